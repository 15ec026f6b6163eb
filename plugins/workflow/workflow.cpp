#include "plugins/workflow/workflow.hpp"

#include <algorithm>
#include <array>

#include "plugins/sdk/registry.hpp"
#include "plugins/sdk/request_context.hpp"

namespace sluice::plugins::workflow {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

constexpr std::uint32_t kRuleTag = 1;
constexpr std::array<std::string_view, 2> kLimiters = {"limit-count", "limit-conn"};
constexpr const char* kRefused = "{\"error_msg\":\"rejected by workflow\"}\n";

bool limiter(std::string_view name) { return std::find(kLimiters.begin(), kLimiters.end(), name) != kLimiters.end(); }

std::string in_action(std::string_view name, const std::string& reason) {
  return "failed to validate the '" + std::string(name) + "' action: " + reason;
}

std::string check_return(const Json& conf) {
  static const schema::Node kReturn =
      schema::object().property("code", schema::integer().at_least(100).at_most(599), true);
  JsonDoc copy;
  copy.CopyFrom(conf, copy.GetAllocator());
  return schema::validate(kReturn, copy, copy.GetAllocator());
}

std::string check_limiter(std::string_view name, const Json& conf) {
  if (find(conf, "group") != nullptr) return "group is not supported";
  const auto checked = sdk::check_plugin_conf(sdk::EnabledPlugins{}, name, conf);
  if (checked) return {};
  // The sentence around it names the plugin already.
  const std::string prefix = "failed to check the configuration of plugin " + std::string(name) + " err: ";
  const std::string& reason = checked.error().reason;
  return reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason;
}

// An action is [name, settings]; settings may be left out.
struct Action {
  std::string_view name;
  const Json& conf;
};
Action action_of(const Json& item) {
  static const Json kEmpty(rapidjson::kObjectType);
  return {item[0].IsString() ? text_of(item[0]) : std::string_view(), item.Size() > 1 ? item[1] : kEmpty};
}

std::string check_action(const Json& item) {
  const Action action = action_of(item);
  std::string message;
  if (action.name == "return")
    message = check_return(action.conf);
  else if (limiter(action.name))
    message = check_limiter(action.name, action.conf);
  else
    return "unsupported action: " + std::string(action.name);
  return message.empty() ? message : in_action(action.name, message);
}

}  // namespace

const schema::Table<Workflow::Config>& Workflow::table() {
  using namespace schema;
  static const Node kAction = array(any_of({string(), object()})).min_items(1);
  static const Node kRule = object()
                                .property("case", array(any_of({array(), string()})).min_items(1).doc("a condition; absent: always"))
                                .property("actions", array(kAction).min_items(1).doc("the first one is run: [name, settings]"), true);
  static const auto kTable = schema::table<Config>().field(
      "rules", &Config::rules, array(kRule).doc("in order; the first one whose case holds is taken"), required);
  return kTable;
}

std::string Workflow::check(const Json& conf) {
  for (const Json& rule : find(conf, "rules")->GetArray()) {
    if (const Json* condition = find(rule, "case"); condition != nullptr)
      if (auto compiled = sdk::Expression::compile(*condition); !compiled)
        return "failed to validate the 'case' expression: " + compiled.error().reason;
    for (const Json& action : find(rule, "actions")->GetArray())
      if (std::string message = check_action(action); !message.empty()) return message;
  }
  return {};
}

Result<Workflow> Workflow::compile(Config config, sdk::CompileContext& context) {
  Workflow made;
  for (const Json& item : config.rules.get().GetArray()) {
    Rule rule;
    if (const Json* condition = find(item, "case"); condition != nullptr) {
      auto compiled = sdk::Expression::compile(*condition);
      if (!compiled) return compiled.error();
      if (compiled->needs_request_body()) context.require_request_body();
      rule.condition = std::move(*compiled);
    }
    const Action action = action_of((*find(item, "actions"))[0]);
    if (action.name == "return") {
      rule.status = static_cast<std::uint16_t>(find(action.conf, "code")->GetInt());
    } else {
      // Each rule counts for itself.
      auto limiter = sdk::compile_plugin_conf(sdk::EnabledPlugins{}, action.name, action.conf, context.host(),
                                              context.resource_key() + ":" + std::to_string(made.rules_.size() + 1));
      if (!limiter) return invalid(in_action(action.name, limiter.error().reason));
      if ((*limiter)->needs.request_body) context.require_request_body();
      rule.limiter = std::move(*limiter);
    }
    made.rules_.push_back(std::move(rule));
  }
  return made;
}

Verdict Workflow::access(RequestContext& ctx) const noexcept {
  for (const Rule& rule : rules_) {
    if (rule.condition && rule.condition->evaluate(ctx) != sdk::Expression::Outcome::yes) continue;
    if (rule.limiter == nullptr) return ctx.respond(rule.status, kRefused);
    ctx.note_or_add(this, kRuleTag) = static_cast<std::uint64_t>(&rule - rules_.data()) + 1;
    // The plugin of that name has had its say about this request.
    ctx.skip_plugin(rule.limiter->type->traits.name);
    if (rule.limiter->access == nullptr) return Verdict::proceed();
    return rule.limiter->access(rule.limiter->self.get(), ctx);
  }
  return Verdict::proceed();
}

const sdk::PluginInstance* Workflow::chosen(RequestContext& ctx) const noexcept {
  const std::uint64_t* note = ctx.note(this, kRuleTag);
  return note == nullptr || *note == 0 ? nullptr : rules_[*note - 1].limiter.get();
}

void Workflow::header_filter(RequestContext& ctx) const noexcept {
  if (const auto* limiter = chosen(ctx); limiter != nullptr && limiter->header_filter != nullptr)
    limiter->header_filter(limiter->self.get(), ctx);
}

void Workflow::log(RequestContext& ctx) const noexcept {
  if (const auto* limiter = chosen(ctx); limiter != nullptr && limiter->log != nullptr)
    limiter->log(limiter->self.get(), ctx);
}

}  // namespace sluice::plugins::workflow
