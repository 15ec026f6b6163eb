// traffic-label: marks requests by setting header fields, chosen by conditions and weights, for whoever comes later.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/expression.hpp"
#include "plugins/sdk/field_text.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::traffic_label {

class TrafficLabel {
 public:
  struct RuleConfig {
    schema::JsonCopy match;
    schema::JsonCopy actions;
  };
  struct Config {
    std::vector<RuleConfig> rules;
  };
  static constexpr sdk::Traits kTraits{.name = "traffic-label", .priority = 967};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<TrafficLabel> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;

 private:
  struct Action {
    std::vector<sdk::FieldTemplate> fields;  // none: the action does nothing
    std::int64_t weight = 1;
  };
  // Smooth weighted round robin over the actions; one turn per worker, as for the reference's pickers.
  struct Turn {
    std::vector<std::int64_t> current;
  };
  struct Rule {
    sdk::Expression match;
    std::vector<Action> actions;
    std::unique_ptr<Turn> turn;
  };
  static const Action& next(const Rule& rule) noexcept;

  std::vector<Rule> rules_;
};

using Plugin = TrafficLabel;

}  // namespace sluice::plugins::traffic_label
