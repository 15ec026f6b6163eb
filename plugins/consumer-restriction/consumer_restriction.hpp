// consumer-restriction: lets only listed consumers (or groups, services, routes) through, or all but listed ones, or
// only with listed methods.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::consumer_restriction {

class ConsumerRestriction {
 public:
  struct MethodsConfig {
    std::string user;
    std::vector<std::string> methods;
  };
  struct Config {
    std::string type = "consumer_name";
    std::vector<std::string> blacklist;
    std::vector<std::string> whitelist;
    std::vector<MethodsConfig> allowed_by_methods;
    int rejected_code = 403;
    std::string rejected_msg;
  };
  static constexpr sdk::Traits kTraits{.name = "consumer-restriction", .priority = 2400};

  static const schema::Table<Config>& table();
  static Result<ConsumerRestriction> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;

 private:
  bool refuses(std::string_view who, std::string_view method) const noexcept;

  std::string_view (*subject_)(const sdk::RequestContext&) noexcept = nullptr;
  std::vector<std::string> blacklist_, whitelist_;
  std::vector<MethodsConfig> by_methods_;
  std::uint16_t status_ = 403;
  std::string missing_body_, refused_body_;
};

using Plugin = ConsumerRestriction;

}  // namespace sluice::plugins::consumer_restriction
