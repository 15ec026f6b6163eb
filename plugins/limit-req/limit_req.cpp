#include "plugins/limit-req/limit_req.hpp"

#include "plugins/sdk/limits/redis_schema.hpp"
#include "plugins/sdk/request_context.hpp"
#include "shm/catalog.hpp"

namespace sluice::plugins::limit_req {

using sdk::LeakyBucket;
using sdk::LeakyVerdict;
using sdk::RequestContext;
using sdk::Verdict;

static_assert(sizeof(LeakyBucket) <= shm::kLimitReqBytes);

const schema::Table<LimitReq::Config>& LimitReq::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("rate", &Config::rate, number().greater_than(0).doc("sustained rate, requests per second"), required)
          .field("burst", &Config::burst, number().at_least(0).doc("requests in excess that are delayed"), required)
          .field("key", &Config::key, string().doc("a variable's name, or a template"), required)
          .field("key_type", &Config::key_type,
                 string().one_of_values({"var", "var_combination"}).default_value("var").doc("how key is read"))
          .field("policy", &Config::policy,
                 string().one_of_values({"redis", "redis-cluster", "local"}).default_value("local").doc("where buckets live"))
          .field("rejected_code", &Config::rejected_code,
                 integer().at_least(200).at_most(599).default_value(503).doc("status of a refusal"))
          .field("rejected_msg", &Config::rejected_msg, string().min_length(1).doc("message of a refusal"))
          .field("nodelay", &Config::nodelay, boolean().default_value(false).doc("let the burst pass at once"))
          .accepted("allow_degradation", boolean().default_value(false).doc("let requests pass when the limiter fails"))
          .field("dry_run", &Config::dry_run, boolean().doc("count, but neither refuse nor delay"))
          .field("bypass", &Config::bypass, sdk::BypassConfig::table())
          .refine([](Node n) { return sdk::with_redis_fields(n, sdk::RedisPolicies::single_and_cluster); });
  return kTable;
}

Result<LimitReq> LimitReq::compile(Config config, sdk::CompileContext& context) {
  if (config.policy != "local") return invalid(sdk::redis_not_available(config.policy));
  LimitReq made;
  auto bypass = sdk::Bypass::compile(std::move(config.bypass));
  if (!bypass) return bypass.error();
  made.bypass_ = std::move(*bypass);
  made.rate_ = sdk::LeakyRate::of(config.rate, config.burst);
  made.key_ = sdk::LimitKey(sdk::limit_key_kind(config.key_type), config.key, context);
  made.place_ = sdk::LimitPlace(kTraits.name, context);
  made.refusal_ = sdk::Refusal(config.rejected_code, config.rejected_msg);
  made.nodelay_ = config.nodelay;
  made.dry_run_ = config.dry_run;
  return made;
}

LeakyVerdict LimitReq::decide(std::string_view raw_key, TimePoint now) const noexcept {
  LeakyVerdict verdict;
  shm::Dict<LeakyBucket> dict(place_.catalog().limit_req());
  dict.update(place_.key(raw_key), place_.owner(), raw_key, now,
              [&](LeakyBucket& bucket, bool fresh, shm::RecordMeta& meta) noexcept {
                verdict = sdk::decide(bucket, fresh, rate_, now);
                if (!verdict.admitted) return meta.discard();
                bucket = sdk::after(bucket, verdict, now);
                meta.expires = sdk::forgettable(bucket, rate_);
                meta.limit = static_cast<std::uint64_t>(rate_.burst_nano);
              });
  return verdict;
}

LeakyVerdict LimitReq::peek(std::string_view raw_key, TimePoint now) const noexcept {
  LeakyBucket bucket;
  const shm::Dict<LeakyBucket> dict(place_.catalog().limit_req());
  const bool there = dict.peek(place_.key(raw_key), now, bucket);
  return sdk::decide(bucket, !there, rate_, now);
}

Verdict LimitReq::access(RequestContext& ctx) const noexcept {
  if (bypass_.covers(ctx)) return Verdict::proceed();
  const std::string_view key = key_.resolve(ctx);
  const LeakyVerdict verdict = decide(key, ctx.now);
  ctx.limit_plugin = kTraits.name;
  ctx.limit_key = key;
  if (!verdict.admitted) {
    ctx.limit_verdict = dry_run_ ? "would_refuse" : "refused";
    return dry_run_ ? Verdict::proceed() : refusal_.answer(ctx);
  }
  if (!nodelay_ && !dry_run_ && verdict.delay >= milliseconds(1)) {
    ctx.limit_verdict = "delayed";
    return Verdict::pause(verdict.delay);
  }
  ctx.limit_verdict = "admitted";
  return Verdict::proceed();
}

}  // namespace sluice::plugins::limit_req
