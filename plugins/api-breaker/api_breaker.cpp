#include "plugins/api-breaker/api_breaker.hpp"

#include <algorithm>

#include "plugins/sdk/request_context.hpp"
#include "shm/catalog.hpp"

namespace sluice::plugins::api_breaker {

using sdk::RequestContext;
using sdk::Verdict;

static_assert(sizeof(Circuit) <= shm::kBreakerBytes);

const schema::Table<ApiBreaker::Config>& ApiBreaker::table() {
  using namespace schema;
  static const auto kHeader =
      schema::table<HeaderConfig>()
          .field("key", &HeaderConfig::key, string().min_length(1).doc("name of a field"), required)
          .field("value", &HeaderConfig::value, string().min_length(1).doc("its value, a template"), required);
  static const auto kUnhealthy =
      schema::table<UnhealthyConfig>()
          .field("http_statuses", &UnhealthyConfig::http_statuses,
                 array(integer().at_least(500).at_most(599)).unique().min_items(1).default_json("[500]").doc("failures"))
          .field("failures", &UnhealthyConfig::failures,
                 integer().at_least(1).default_value(3).doc("so many open the circuit"));
  static const auto kHealthy =
      schema::table<HealthyConfig>()
          .field("http_statuses", &HealthyConfig::http_statuses,
                 array(integer().at_least(200).at_most(499)).unique().min_items(1).default_json("[200]").doc("successes"))
          .field("successes", &HealthyConfig::successes,
                 integer().at_least(1).default_value(3).doc("so many close it for good"));
  static const auto kTable =
      schema::table<Config>()
          .field("break_response_code", &Config::break_response_code,
                 integer().at_least(200).at_most(599).doc("status while the circuit is open"), required)
          .field("break_response_body", &Config::break_response_body, string().doc("body of that answer"))
          .field("break_response_headers", &Config::break_response_headers, kHeader)
          .field("max_breaker_sec", &Config::max_breaker_sec,
                 integer().at_least(3).default_value(300).doc("the longest time that it stays open, seconds"))
          .field("unhealthy", &Config::unhealthy, kUnhealthy, schema::optional,
                 [](Node n) { return n.default_json(R"({"http_statuses":[500],"failures":3})").doc("what opens it"); })
          .field("healthy", &Config::healthy, kHealthy, schema::optional,
                 [](Node n) { return n.default_json(R"({"http_statuses":[200],"successes":3})").doc("what closes it"); });
  return kTable;
}

Result<ApiBreaker> ApiBreaker::compile(Config config, sdk::CompileContext& context) {
  ApiBreaker made;
  made.place_ = sdk::LimitPlace(kTraits.name, context);
  made.status_ = static_cast<std::uint16_t>(config.break_response_code);
  made.body_ = std::move(config.break_response_body);
  // Without a body the stock page is sent, and it alone.
  if (made.body_)
    for (const HeaderConfig& h : config.break_response_headers)
      made.fields_.push_back(sdk::field_template(h.key, Json(rapidjson::StringRef(h.value.data(), h.value.size())), context));
  made.longest_s_ = config.max_breaker_sec;
  made.failures_ = static_cast<std::uint64_t>(config.unhealthy.failures);
  made.successes_ = static_cast<std::uint64_t>(config.healthy.successes);
  made.unhealthy_ = std::move(config.unhealthy.http_statuses);
  made.healthy_ = std::move(config.healthy.http_statuses);
  std::sort(made.unhealthy_.begin(), made.unhealthy_.end());
  std::sort(made.healthy_.begin(), made.healthy_.end());
  return made;
}

// 2 s after the first round of failures, then 4, 8, …, at most max_breaker_sec.
TimePoint ApiBreaker::open_until(const Circuit& circuit) const noexcept {
  const std::uint64_t rounds = std::max<std::uint64_t>(circuit.failures / failures_, 1);
  const std::int64_t doubled = rounds >= 40 ? longest_s_ : std::int64_t{1} << rounds;
  return from_ns(circuit.opened_ns) + seconds(std::min(doubled, longest_s_));
}

std::optional<TimePoint> ApiBreaker::peek(std::string_view route_id, TimePoint now) const noexcept {
  Circuit circuit;
  const shm::Dict<Circuit> dict(place_.catalog().api_breaker());
  if (!dict.peek(place_.key(route_id), now, circuit) || circuit.opened_ns == 0) return std::nullopt;
  const TimePoint until = open_until(circuit);
  return now < until ? std::optional(until) : std::nullopt;
}

Verdict ApiBreaker::access(RequestContext& ctx) const noexcept {
  if (!peek(ctx.route_id, ctx.now)) return Verdict::proceed();
  if (!body_) return ctx.respond(status_);
  for (const auto& field : fields_)
    if (const std::string_view value = field.text(ctx); !value.empty()) ctx.response_headers.add(field.name, value);
  return ctx.respond(status_, *body_);
}

void ApiBreaker::note(std::string_view route_id, bool failed, TimePoint now) const noexcept {
  shm::Dict<Circuit> dict(place_.catalog().api_breaker());
  dict.update(place_.key(route_id), place_.owner(), route_id, now,
              [&](Circuit& circuit, bool fresh, shm::RecordMeta& meta) noexcept {
                if (!failed) {
                  // Nothing has failed lately, or enough has gone well: there is nothing to remember.
                  if (fresh) return meta.discard();
                  if (++circuit.successes >= successes_) meta.expires = now;
                  return;
                }
                ++circuit.failures;
                circuit.successes = 0;
                if (circuit.failures % failures_ == 0) circuit.opened_ns = to_ns(now);
                // What failed longer ago than the circuit can be open says nothing about now.
                meta.expires = std::max(open_until(circuit), now) + seconds(longest_s_);
                meta.limit = failures_;
              });
}

void ApiBreaker::log(RequestContext& ctx) const noexcept {
  const sdk::Attempt* const last = ctx.last_attempt();
  if (last == nullptr || last->status == 0) return;
  const int status = last->status;
  if (std::binary_search(unhealthy_.begin(), unhealthy_.end(), status))
    note(ctx.route_id, true, ctx.now);
  else if (std::binary_search(healthy_.begin(), healthy_.end(), status))
    note(ctx.route_id, false, ctx.now);
}

}  // namespace sluice::plugins::api_breaker
