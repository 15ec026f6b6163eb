#include "plugins/prometheus/prometheus.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <vector>

#include "plugins/prometheus/endpoint.hpp"
#include "plugins/prometheus/series_cache.hpp"
#include "plugins/sdk/plugin.hpp"
#include "shm/catalog.hpp"

namespace sluice::plugins::prometheus {

using sdk::RequestContext;

namespace {

// Of this process: instances come and go with every change of a route, the labels stay.
SeriesCache& series_cache() noexcept {
  static thread_local SeriesCache cache;
  return cache;
}

std::string_view source_text(sdk::ResponseSource source) noexcept {
  switch (source) {
    case sdk::ResponseSource::upstream: return "upstream";
    case sdk::ResponseSource::proxy: return "nginx";   // the name that dashboards know for the proxy layer
    case sdk::ResponseSource::apisix:
    case sdk::ResponseSource::none: break;
  }
  return "apisix";
}

// All but the lead label.
LabelValues label_values(const RequestContext& ctx, bool prefer_name) noexcept {
  LabelValues v{};
  const auto at = [&](Label label) -> std::string_view& { return v[static_cast<std::size_t>(label)]; };
  const auto named = [&](std::string_view id, std::string_view name) { return prefer_name && !name.empty() ? name : id; };
  if (ctx.route_matched) {
    at(Label::route) = named(ctx.route_id, ctx.route_name);
    at(Label::matched_uri) = ctx.matched_uri;
    at(Label::matched_host) = ctx.matched_host;
    at(Label::service) = named(ctx.service_id, ctx.service_name);
  }
  if (ctx.consumer) at(Label::consumer) = ctx.consumer->name;
  if (const sdk::Attempt* attempt = ctx.last_attempt()) at(Label::node) = attempt->ip;
  at(Label::request_type) = "traditional_http";
  at(Label::response_source) = source_text(ctx.source);
  return v;
}

struct Milliseconds {
  double request = 0, upstream = 0, apisix = 0;
};

Milliseconds latencies(const RequestContext& ctx) noexcept {
  Milliseconds ms;
  ms.request = std::max(0.0, std::chrono::duration<double, std::milli>(ctx.now - ctx.started).count());
  const std::size_t kept = std::min<std::size_t>(ctx.attempt_count, RequestContext::kMaxAttemptsKept);
  std::int64_t upstream_ns = 0;
  for (std::size_t i = 0; i < kept; ++i) upstream_ns += std::max<std::int64_t>(ctx.attempts[i].response_ns, 0);
  ms.upstream = static_cast<double>(upstream_ns) / 1e6;
  ms.apisix = std::max(0.0, ms.request - ms.upstream);
  return ms;
}

// Values of the extra labels of one metric, in the plan's order.
std::vector<std::string_view> extra_values(const LabelPlan& plan, Metric metric, RequestContext& ctx) {
  std::vector<std::string_view> out;
  for (const ExtraLabel& extra : plan.extra[static_cast<std::size_t>(metric)]) out.push_back(extra.variable.get(ctx).text);
  return out;
}

RequestSeries intern_all(shm::Cells& cells, const LabelPlan& plan, RequestContext& ctx, LabelValues values,
                         std::string_view code) {
  std::string_view& lead = values[static_cast<std::size_t>(Label::lead)];
  RequestSeries made;
  lead = code;
  made.status = cells.intern(shm::SeriesKind::counter,
                             series_text(plan, Metric::http_status, values, extra_values(plan, Metric::http_status, ctx)));
  const auto latency = [&](std::string_view type) {
    lead = type;
    return cells.intern(shm::SeriesKind::histogram,
                        series_text(plan, Metric::http_latency, values, extra_values(plan, Metric::http_latency, ctx)),
                        static_cast<std::uint32_t>(plan.bounds.size() + 1));
  };
  made.latency_request = latency("request");
  made.latency_apisix = latency("apisix");
  if (ctx.attempt_count != 0) made.latency_upstream = latency("upstream");
  const auto bandwidth = [&](std::string_view type) {
    lead = type;
    return cells.intern(shm::SeriesKind::counter,
                        series_text(plan, Metric::bandwidth, values, extra_values(plan, Metric::bandwidth, ctx)));
  };
  made.ingress = bandwidth("ingress");
  made.egress = bandwidth("egress");
  return made;
}

shm::Key key_of(const shm::Cells& cells, const LabelPlan& plan, RequestContext& ctx, const LabelValues& values) noexcept {
  shm::KeyHasher hash(cells.seed());
  hash.add(plan.id << 17 | std::uint64_t{ctx.status} << 1 | (ctx.attempt_count != 0 ? 1 : 0));
  hash.add(static_cast<std::uint64_t>(ctx.source));
  for (const Label label : {Label::route, Label::matched_uri, Label::matched_host, Label::service, Label::consumer, Label::node})
    hash.add(values[static_cast<std::size_t>(label)]);
  if (plan.has_extra())
    for (const auto& list : plan.extra)
      for (const ExtraLabel& extra : list) hash.add(extra.variable.get(ctx).text);
  return hash.finish();
}

// The series of this request; nothing when there is no memory for the texts.
const RequestSeries* series_of(shm::Cells& cells, const LabelPlan& plan, RequestContext& ctx, bool prefer_name,
                               RequestSeries& fresh) noexcept {
  const LabelValues values = label_values(ctx, prefer_name);
  const shm::Key key = key_of(cells, plan, ctx, values);
  if (const RequestSeries* known = series_cache().find(key)) return known;
  try {
    fresh = intern_all(cells, plan, ctx, values, std::to_string(ctx.status));
  } catch (const std::exception&) {
    return nullptr;
  }
  series_cache().add(key, fresh);
  return &fresh;
}

}  // namespace

const schema::Table<Prometheus::Config>& Prometheus::table() {
  using namespace schema;
  static const auto kTable = schema::table<Config>().field(
      "prefer_name", &Config::prefer_name,
      boolean().default_value(false).doc("label with the names of route and service instead of their ids"));
  return kTable;
}

const schema::Node& Prometheus::metadata_schema() {
  static const schema::Node kNode = schema::object().property("disabled_labels", disabled_labels_schema());
  return kNode;
}

std::span<const sdk::PublicApi> Prometheus::public_apis() {
  static const sdk::PublicApi kApis[] = {{"GET", {}, &serve_metrics, &public_address}};
  return kApis;
}

Result<Prometheus> Prometheus::compile(Config config, sdk::CompileContext& context) {
  Prometheus made;
  made.prefer_name_ = config.prefer_name;
  made.plan_ = label_plan(context.metadata("prometheus"), context.attributes("prometheus"));
  for (const auto& extras : made.plan_->extra)
    for (const ExtraLabel& extra : extras)
      if (extra.variable.needs_request_body()) context.require_request_body();
  const sdk::PluginHost& host = context.host();
  if (host.catalog != nullptr && host.worker_slot >= 0 && !host.dry_run) {
    made.cells_ = &host.catalog->metrics();
    made.page_ = made.cells_->page(static_cast<std::uint32_t>(host.worker_slot));
  }
  return made;
}

void Prometheus::log(RequestContext& ctx) const noexcept {
  if (!page_) return;
  RequestSeries fresh;
  const RequestSeries* series = series_of(*cells_, *plan_, ctx, prefer_name_, fresh);
  if (series == nullptr) return;
  const auto observe = [&](const shm::Series& latency, double ms) {
    const auto bucket = std::lower_bound(plan_->bounds.begin(), plan_->bounds.end(), ms) - plan_->bounds.begin();
    page_.observe(latency, static_cast<std::uint32_t>(bucket), ms);
  };
  const Milliseconds ms = latencies(ctx);
  page_.add(series->status);
  observe(series->latency_request, ms.request);
  observe(series->latency_apisix, ms.apisix);
  if (ctx.attempt_count != 0) observe(series->latency_upstream, ms.upstream);
  page_.add(series->ingress, ctx.request_bytes);
  page_.add(series->egress, ctx.bytes_sent);
}

}  // namespace sluice::plugins::prometheus
