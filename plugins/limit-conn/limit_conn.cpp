#include "plugins/limit-conn/limit_conn.hpp"

#include <cmath>

#include "plugins/sdk/limits/redis_schema.hpp"
#include "plugins/sdk/request_context.hpp"
#include "shm/catalog.hpp"

namespace sluice::plugins::limit_conn {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

// What one request holds: a list in its arena, found through the request's notes.
struct Held {
  shm::LeaseHandle lease;
  Held* next;
};
constexpr std::uint32_t kHeldTag = 1;

schema::Node conn_node() {
  using namespace schema;
  return one_of({integer().greater_than(0), string()}).doc("requests in flight that are not delayed");
}
schema::Node burst_node() {
  using namespace schema;
  return one_of({integer().at_least(0), string()}).doc("further requests, which are delayed");
}

const schema::Table<LimitConn::RuleConfig>& rule_table() {
  using Rule = LimitConn::RuleConfig;
  static const auto kTable = schema::table<Rule>()
                                 .field("conn", &Rule::conn, conn_node(), schema::required)
                                 .field("burst", &Rule::burst, burst_node(), schema::required)
                                 .field("key", &Rule::key, schema::string().doc("a template"), schema::required);
  return kTable;
}

}  // namespace

const schema::Table<LimitConn::Config>& LimitConn::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("conn", &Config::conn, conn_node())
          .field("burst", &Config::burst, burst_node())
          .field("default_conn_delay", &Config::default_conn_delay,
                 number().greater_than(0).doc("seconds of delay per full multiple of conn"), required)
          .accepted("only_use_default_delay", boolean().default_value(false).doc("accepted, no effect"))
          .field("key", &Config::key, string().doc("a variable's name, or a template"))
          .field("key_type", &Config::key_type,
                 string().one_of_values({"var", "var_combination"}).default_value("var").doc("how key is read"))
          .field("rules", &Config::rules, rule_table())
          .field("policy", &Config::policy,
                 string().one_of_values({"redis", "redis-cluster", "local"}).default_value("local").doc("where counts live"))
          .field("rejected_code", &Config::rejected_code,
                 integer().at_least(200).at_most(599).default_value(503).doc("status of a refusal"))
          .field("rejected_msg", &Config::rejected_msg, string().min_length(1).doc("message of a refusal"))
          .field("allow_degradation", &Config::allow_degradation,
                 boolean().default_value(false).doc("let requests pass when the limiter fails"))
          .field("dry_run", &Config::dry_run, boolean().doc("count, but neither refuse nor delay"))
          .field("bypass", &Config::bypass, sdk::BypassConfig::table())
          .refine([](Node n) {
            n = n.with_one_of({object().require({"conn", "burst", "default_conn_delay", "key"}),
                               object().require({"default_conn_delay", "rules"})});
            return sdk::with_redis_fields(n, sdk::RedisPolicies::single_and_cluster, true);
          });
  return kTable;
}

Result<LimitConn> LimitConn::compile(Config config, sdk::CompileContext& context) {
  if (config.policy != "local") return invalid(sdk::redis_not_available(config.policy));
  LimitConn made;
  auto bypass = sdk::Bypass::compile(std::move(config.bypass));
  if (!bypass) return bypass.error();
  made.bypass_ = std::move(*bypass);
  if (config.conn && config.burst && config.key) {
    Rule rule;
    rule.conn = sdk::QuotaNumber(*config.conn, false, context);
    rule.burst = sdk::QuotaNumber(*config.burst, true, context);
    rule.key = sdk::LimitKey(sdk::limit_key_kind(config.key_type), *config.key, context);
    made.rules_.push_back(std::move(rule));
  }
  for (const RuleConfig& r : config.rules) {
    Rule rule;
    rule.conn = sdk::QuotaNumber(r.conn, false, context);
    rule.burst = sdk::QuotaNumber(r.burst, true, context);
    rule.text = context.text(r.key);
    rule.from_list = true;
    made.rules_.push_back(std::move(rule));
  }
  made.place_ = sdk::LimitPlace(kTraits.name, context);
  made.refusal_ = sdk::Refusal(config.rejected_code, config.rejected_msg);
  made.unit_delay_ns_ = config.default_conn_delay * 1e9;
  made.allow_degradation_ = config.allow_degradation;
  made.dry_run_ = config.dry_run;
  return made;
}

// A rule of the list that cannot be resolved is skipped; the one of the plain form makes the limiter fail.
LimitConn::Applies LimitConn::bounds_of(const Rule& rule, RequestContext& ctx, Bounds& out) const noexcept {
  const auto conn = rule.conn.resolve(ctx);
  const auto burst = rule.burst.resolve(ctx);
  const std::string_view problem = conn.problem.empty() ? burst.problem : conn.problem;
  if (!problem.empty()) {
    if (rule.from_list) return Applies::skipped;
    sdk::log_limit_problem(kTraits.name, "failed to resolve conn or burst", problem, ctx.now);
    return Applies::broken;
  }
  out.conn = conn.number;
  out.burst = burst.number;
  if (!rule.from_list) {
    out.key = rule.key.resolve(ctx);
    return Applies::yes;
  }
  const auto expansion = rule.text.expand(ctx);
  out.key = expansion.text;
  return expansion.resolved == 0 ? Applies::skipped : Applies::yes;
}

nanoseconds LimitConn::enter(RequestContext& ctx, const Bounds& bounds) const noexcept {
  shm::LeaseDict& dict = place_.catalog().limit_conn();
  const std::uint64_t most = bounds.conn + bounds.burst;
  const auto got = dict.try_acquire(
      place_.key(bounds.key), place_.owner(), bounds.key, static_cast<std::uint32_t>(place_.worker_slot()), ctx.now,
      [&](std::uint64_t in_flight) noexcept { return dry_run_ || in_flight <= most; }, most);
  if (!got.admitted) return nanoseconds(-1);
  auto& head = ctx.note_or_add(this, kHeldTag);
  head = reinterpret_cast<std::uintptr_t>(
      ctx.arena.make<Held>(Held{got.lease, reinterpret_cast<Held*>(static_cast<std::uintptr_t>(head))}));
  if (got.in_flight > most) ctx.limit_verdict = "would_refuse";
  if (got.in_flight <= bounds.conn || dry_run_) return nanoseconds(0);
  const double delay = unit_delay_ns_ * static_cast<double>((got.in_flight - 1) / bounds.conn);
  return nanoseconds(delay >= 9e18 ? INT64_MAX : std::llround(delay));
}

Verdict LimitConn::undecided(RequestContext& ctx, std::string_view why) const noexcept {
  sdk::log_limit_problem(kTraits.name, why, {}, ctx.now);
  return allow_degradation_ ? Verdict::proceed() : ctx.respond(500);
}

Verdict LimitConn::access(RequestContext& ctx) const noexcept {
  if (bypass_.covers(ctx)) return Verdict::proceed();
  if (place_.worker_slot() < 0) return undecided(ctx, "this process has no slot to hold requests in");
  const auto bounds = ctx.arena.array<Bounds>(rules_.size());
  std::size_t applying = 0;
  for (const Rule& rule : rules_) {
    switch (bounds_of(rule, ctx, bounds[applying])) {
      case Applies::yes: ++applying; break;
      case Applies::skipped: break;
      case Applies::broken: return allow_degradation_ ? Verdict::proceed() : ctx.respond(500);
    }
  }
  if (applying == 0) return undecided(ctx, "no rule applies to the request");
  ctx.limit_plugin = kTraits.name;
  ctx.limit_verdict = "admitted";
  nanoseconds delay{0};
  for (const Bounds& b : bounds.first(applying)) {
    ctx.limit_key = b.key;
    const nanoseconds owed = enter(ctx, b);
    if (owed.count() < 0) {
      ctx.limit_verdict = "refused";
      return refusal_.answer(ctx);
    }
    delay += std::min(owed, nanoseconds(INT64_MAX) - delay);
  }
  if (delay < milliseconds(1)) return Verdict::proceed();
  ctx.limit_verdict = "delayed";
  return Verdict::pause(delay);
}

void LimitConn::log(RequestContext& ctx) const noexcept {
  std::uint64_t* note = ctx.note(this, kHeldTag);
  if (note == nullptr) return;
  shm::LeaseDict& dict = place_.catalog().limit_conn();
  for (auto* held = reinterpret_cast<Held*>(static_cast<std::uintptr_t>(*note)); held != nullptr; held = held->next)
    dict.release(held->lease, static_cast<std::uint32_t>(place_.worker_slot()));
  *note = 0;
}

std::uint64_t LimitConn::peek(std::string_view raw_key) const noexcept {
  return place_.catalog().limit_conn().in_flight(place_.key(raw_key));
}

}  // namespace sluice::plugins::limit_conn
