// ua-restriction: lets only listed user agents through, or all but listed ones.
#pragma once

#include <string>
#include <vector>

#include "conf/base/pcre.hpp"
#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::ua_restriction {

class UaRestriction {
 public:
  struct Config {
    bool bypass_missing = false;
    std::vector<std::string> allowlist;
    std::vector<std::string> denylist;
    std::string message;
  };
  static constexpr sdk::Traits kTraits{.name = "ua-restriction", .priority = 2999};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<UaRestriction> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;

 private:
  std::vector<Regex> patterns_;
  bool listed_pass_ = false;  // an allowlist
  bool bypass_missing_ = false;
  std::string body_;
};

using Plugin = UaRestriction;

}  // namespace sluice::plugins::ua_restriction
