// referer-restriction: looks at the host that a Referer names, and lets only listed ones through, or all but those.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::referer_restriction {

class RefererRestriction {
 public:
  struct Config {
    bool bypass_missing = false;
    std::vector<std::string> whitelist;
    std::vector<std::string> blacklist;
    std::string message;
  };
  static constexpr sdk::Traits kTraits{.name = "referer-restriction", .priority = 2990};

  static const schema::Table<Config>& table();
  static Result<RefererRestriction> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;

 private:
  bool lists(std::string_view host) const noexcept;

  std::vector<std::string> hosts_;     // equal
  std::vector<std::string> suffixes_;  // what stood after '*'
  bool listed_pass_ = false;
  bool bypass_missing_ = false;
  std::string body_;
};

using Plugin = RefererRestriction;

}  // namespace sluice::plugins::referer_restriction
