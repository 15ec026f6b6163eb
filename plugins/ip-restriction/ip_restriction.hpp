// ip-restriction: lets only listed client addresses through, or all but listed ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conf/base/cidr.hpp"
#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::ip_restriction {

class IpRestriction {
 public:
  struct Config {
    std::string message;
    int response_code = 403;
    std::vector<std::string> whitelist;
    std::vector<std::string> blacklist;
  };
  static constexpr sdk::Traits kTraits{.name = "ip-restriction", .priority = 3000};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<IpRestriction> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;

 private:
  CidrSet listed_;
  bool listed_pass_ = false;  // a whitelist
  std::uint16_t status_ = 403;
  std::string body_;
};

using Plugin = IpRestriction;

}  // namespace sluice::plugins::ip_restriction
