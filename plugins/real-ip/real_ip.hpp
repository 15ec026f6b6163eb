// real-ip: takes the client's address (and port) from a header field or another variable, when who is connected may be
// believed. All later plugins, conditions and logs see the new one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conf/base/cidr.hpp"
#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::plugins::real_ip {

class RealIp {
 public:
  struct Config {
    std::vector<std::string> trusted_addresses;
    std::string source;
    bool recursive = false;
  };
  static constexpr sdk::Traits kTraits{.name = "real-ip", .priority = 23000};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<RealIp> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;

 private:
  std::string_view from_chain(std::string_view chain) const noexcept;

  CidrSet trusted_;
  bool restricted_ = false;  // only who is in trusted_ may say
  bool forwarded_for_ = false;
  bool recursive_ = false;
  sdk::Variable source_;
};

using Plugin = RealIp;

}  // namespace sluice::plugins::real_ip
