// workflow: rules in order; the first one whose condition holds runs its action, which is to answer at once or to be one of
// the limiters with settings of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conf/schema/json_copy.hpp"
#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/expression.hpp"
#include "plugins/sdk/plugin.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/verdict.hpp"

namespace sluice::plugins::workflow {

class Workflow {
 public:
  struct Config {
    schema::JsonCopy rules;
  };
  static constexpr sdk::Traits kTraits{.name = "workflow", .priority = 1006};
  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<Workflow> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;
  void header_filter(sdk::RequestContext& ctx) const noexcept;
  void log(sdk::RequestContext& ctx) const noexcept;

 private:
  struct Rule {
    std::optional<sdk::Expression> condition;               // absent: always
    std::uint16_t status = 0;                               // of the answer, when there is no limiter
    std::shared_ptr<const sdk::PluginInstance> limiter;
  };
  const sdk::PluginInstance* chosen(sdk::RequestContext& ctx) const noexcept;

  std::vector<Rule> rules_;
};
using Plugin = Workflow;

}  // namespace sluice::plugins::workflow
