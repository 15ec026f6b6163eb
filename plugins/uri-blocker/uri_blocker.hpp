// uri-blocker: refuses requests whose path and query match one of the rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conf/base/pcre.hpp"
#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::plugins::uri_blocker {

class UriBlocker {
 public:
  struct Config {
    std::vector<std::string> block_rules;
    int rejected_code = 403;
    std::string rejected_msg;
    bool case_insensitive = false;
  };
  static constexpr sdk::Traits kTraits{.name = "uri-blocker", .priority = 2900};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<UriBlocker> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;

 private:
  Regex rules_;  // all of them, joined
  sdk::Variable request_uri_;
  std::uint16_t status_ = 403;
  std::string body_;
};

using Plugin = UriBlocker;

}  // namespace sluice::plugins::uri_blocker
