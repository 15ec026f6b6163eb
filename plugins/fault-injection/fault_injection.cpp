#include "plugins/fault-injection/fault_injection.hpp"

#include <algorithm>

#include "plugins/sdk/chance.hpp"

namespace sluice::plugins::fault_injection {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

constexpr double kLongestDelay = 365.0 * 86400;  // seconds; what is above would not fit in nanoseconds

std::string vars_message(const std::string& reason) { return "failed to validate the 'vars' expression: " + reason; }

std::string check_vars(const Json* part) {
  const Json* vars = part == nullptr ? nullptr : find(*part, "vars");
  if (vars == nullptr || !vars->IsArray()) return {};
  for (const auto& alternative : vars->GetArray())
    if (auto compiled = sdk::Expression::compile(alternative); !compiled) return vars_message(compiled.error().reason);
  return {};
}

std::string check_headers(const Json* abort) {
  const Json* headers = abort == nullptr ? nullptr : find(*abort, "headers");
  if (headers == nullptr || !headers->IsObject()) return {};
  for (const auto& m : headers->GetObject())
    if (std::string message = sdk::check_field_name(text_of(m.name)); !message.empty()) return message;
  return {};
}

}  // namespace

const schema::Table<FaultInjection::Config>& FaultInjection::table() {
  using namespace schema;
  static const Node kVars = array(array()).max_items(20).doc("alternatives; each is a condition");
  static const Node kPercentage = integer().at_least(0).at_most(100).doc("share of the requests; absent: all");
  static const auto kAbort = schema::table<AbortConfig>()
                                 .field("http_status", &AbortConfig::http_status,
                                        integer().at_least(200).doc("status of the answer"), required)
                                 .field("body", &AbortConfig::body, string().doc("body of the answer, a template"))
                                 .field("headers", &AbortConfig::headers,
                                        object()
                                            .min_properties(1)
                                            .additional(one_of({string(), number()}))
                                            .doc("headers of the answer, templates"))
                                 .field("percentage", &AbortConfig::percentage, kPercentage)
                                 .field("vars", &AbortConfig::vars, kVars);
  static const auto kDelay =
      schema::table<DelayConfig>()
          .field("duration", &DelayConfig::duration, number().at_least(0).doc("seconds"), required)
          .field("percentage", &DelayConfig::percentage, kPercentage)
          .field("vars", &DelayConfig::vars, kVars);
  static const auto kTable =
      schema::table<Config>()
          .field("abort", &Config::abort, kAbort, schema::optional, [](Node n) { return n.doc("answer with a fault"); })
          .field("delay", &Config::delay, kDelay, schema::optional, [](Node n) { return n.doc("hold the request"); })
          .refine([](Node n) {
            return n.min_properties(1).require_any({{"abort"}, {"delay"}});
          });
  return kTable;
}

std::string FaultInjection::check(const Json& conf) {
  if (std::string message = check_vars(find(conf, "abort")); !message.empty()) return message;
  if (std::string message = check_vars(find(conf, "delay")); !message.empty()) return message;
  return check_headers(find(conf, "abort"));
}

Result<FaultInjection::Target> FaultInjection::target_of(std::optional<int> percentage, const schema::JsonCopy& vars,
                                                         sdk::CompileContext& context) {
  Target target;
  target.percentage = percentage.value_or(100);
  if (!vars || !vars.get().IsArray()) return target;
  for (const auto& alternative : vars.get().GetArray()) {
    auto compiled = sdk::Expression::compile(alternative);
    if (!compiled) return invalid(vars_message(compiled.error().reason));
    if (compiled->needs_request_body()) context.require_request_body();
    target.alternatives.push_back(std::move(*compiled));
  }
  return target;
}

Result<FaultInjection> FaultInjection::compile(Config config, sdk::CompileContext& context) {
  FaultInjection made;
  if (config.delay) {
    auto target = target_of(config.delay->percentage, config.delay->vars, context);
    if (!target) return target.error();
    made.delays_ = true;
    made.delay_target_ = std::move(*target);
    made.delay_ =
        std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(config.delay->duration, kLongestDelay) * 1e9));
  }
  if (config.abort) {
    auto target = target_of(config.abort->percentage, config.abort->vars, context);
    if (!target) return target.error();
    made.aborts_ = true;
    made.abort_target_ = std::move(*target);
    made.status_ = static_cast<std::uint16_t>(std::min(config.abort->http_status, 999));
    if (config.abort->headers) made.headers_ = sdk::field_templates(config.abort->headers.get(), context);
    if (config.abort->body) made.body_ = context.text(*config.abort->body);
  }
  return made;
}

bool FaultInjection::Target::hits(RequestContext& ctx) const noexcept {
  if (percentage < 100 && !sdk::happens(percentage)) return false;
  if (alternatives.empty()) return true;
  return std::any_of(alternatives.begin(), alternatives.end(),
                     [&ctx](const sdk::Expression& e) { return e.evaluate(ctx) == sdk::Expression::Outcome::yes; });
}

void FaultInjection::prepare_fault(RequestContext& ctx) const noexcept {
  for (const auto& field : headers_)
    if (const auto value = field.text(ctx); !value.empty()) ctx.response_headers.set(field.name, value);
  ctx.reply = {};
  if (body_) ctx.reply = {body_->expand(ctx).text, {}, true};
}

Verdict FaultInjection::rewrite(RequestContext& ctx) const noexcept {
  const bool delayed = delays_ && delay_target_.hits(ctx);
  const auto delay = delayed ? delay_ : std::chrono::nanoseconds(0);
  if (aborts_ && abort_target_.hits(ctx)) {
    prepare_fault(ctx);
    return Verdict::reply_after(delay, status_);
  }
  return delay.count() > 0 ? Verdict::pause(delay) : Verdict::proceed();
}

}  // namespace sluice::plugins::fault_injection
