#include "plugins/traffic-label/traffic_label.hpp"

namespace sluice::plugins::traffic_label {

using sdk::RequestContext;
using sdk::Verdict;

const schema::Table<TrafficLabel::Config>& TrafficLabel::table() {
  using namespace schema;
  static const Node kAction =
      object()
          .property("set_headers", object().min_properties(1).doc("fields to set, templates"))
          .property("weight", integer().at_least(1).default_value(1).doc("share of this action"));
  static const auto kRule =
      schema::table<RuleConfig>()
          .field("match", &RuleConfig::match, array().min_items(1).doc("condition; absent: always"))
          .field("actions", &RuleConfig::actions, array(kAction).min_items(1).doc("one of these is taken"), required);
  static const auto kTable = schema::table<Config>().field("rules", &Config::rules, kRule, required, [](Node n) {
    return n.min_items(1).doc("the first that matches is taken");
  });
  return kTable;
}

std::string TrafficLabel::check(const Json& conf) {
  const Json* rules = find(conf, "rules");
  if (rules == nullptr || !rules->IsArray()) return {};
  for (const auto& rule : rules->GetArray()) {
    if (const Json* match = find(rule, "match"))
      if (auto compiled = sdk::Expression::compile(*match); !compiled)
        return "failed to validate the 'match' expression: " + to_json(*match) + " err: " + compiled.error().reason;
    const Json* actions = find(rule, "actions");
    if (actions == nullptr || !actions->IsArray()) continue;
    for (const auto& action : actions->GetArray()) {
      if (!action.IsObject()) continue;
      for (const auto& m : action.GetObject()) {
        if (text_of(m.name) != "set_headers" && text_of(m.name) != "weight")
          return "not supported action: " + std::string(text_of(m.name));
        if (text_of(m.name) != "set_headers" || !m.value.IsObject()) continue;
        for (const auto& field : m.value.GetObject()) {
          if (std::string message = sdk::check_field_name(text_of(field.name)); !message.empty()) return message;
          if (!field.value.IsString() && !field.value.IsNumber()) return "invalid type as header value";
        }
      }
    }
  }
  return {};
}

Result<TrafficLabel> TrafficLabel::compile(Config config, sdk::CompileContext& context) {
  TrafficLabel made;
  for (const RuleConfig& given : config.rules) {
    Rule rule;
    if (given.match) {
      auto match = sdk::Expression::compile(given.match.get());
      if (!match) return invalid("failed to validate the 'match' expression: " + match.error().reason);
      if (match->needs_request_body()) context.require_request_body();
      rule.match = std::move(*match);
    }
    if (given.actions.get().IsArray()) {
      for (const auto& action : given.actions.get().GetArray()) {
        const Json* fields = find(action, "set_headers");
        const Json* weight = find(action, "weight");
        rule.actions.push_back(
            {fields == nullptr ? std::vector<sdk::FieldTemplate>() : sdk::field_templates(*fields, context),
             weight != nullptr && weight->IsInt64() ? weight->GetInt64() : 1});
      }
    }
    if (rule.actions.empty()) continue;
    rule.turn = std::make_unique<Turn>(Turn{std::vector<std::int64_t>(rule.actions.size(), 0)});
    made.rules_.push_back(std::move(rule));
  }
  return made;
}

// Each action gains its weight, the richest is taken and pays the sum: shares are exact over any run of that length.
const TrafficLabel::Action& TrafficLabel::next(const Rule& rule) noexcept {
  if (rule.actions.size() == 1) return rule.actions.front();
  std::vector<std::int64_t>& current = rule.turn->current;
  std::size_t best = 0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < rule.actions.size(); ++i) {
    current[i] += rule.actions[i].weight;
    sum += rule.actions[i].weight;
    if (current[i] > current[best]) best = i;
  }
  current[best] -= sum;
  return rule.actions[best];
}

Verdict TrafficLabel::access(RequestContext& ctx) const noexcept {
  for (const Rule& rule : rules_) {
    if (!rule.match.always() && rule.match.evaluate(ctx) != sdk::Expression::Outcome::yes) continue;
    const Action& action = next(rule);
    if (action.fields.empty()) continue;  // a share that stays as it is goes on to the next rule
    for (const auto& field : action.fields) {
      const auto value = field.text(ctx);
      if (value.empty())
        ctx.request_headers.remove(field.name);
      else
        ctx.request_headers.set(field.name, value);
    }
    break;
  }
  return Verdict::proceed();
}

}  // namespace sluice::plugins::traffic_label
