#include "plugins/prometheus/labels.hpp"

#include <algorithm>
#include <span>

#include "plugins/sdk/exposition.hpp"

namespace sluice::plugins::prometheus {

namespace {

constexpr std::string_view kMetricNames[kMetrics] = {"http_status", "http_latency", "bandwidth"};
constexpr std::string_view kLabelNames[kLabels] = {
    "type",  "route",        "matched_uri",       "matched_host", "service",        "consumer",
    "node",  "request_type", "request_llm_model", "llm_model",    "response_source"};

constexpr bool has_label(Metric metric, Label label) {
  if (label == Label::matched_uri || label == Label::matched_host || label == Label::response_source)
    return metric == Metric::http_status;
  return true;
}

void read_blanks(const Json* metadata, LabelPlan& plan) {
  const Json* disabled = metadata == nullptr ? nullptr : find(*metadata, "disabled_labels");
  for (std::size_t m = 0; disabled != nullptr && m < kMetrics; ++m) {
    const Json* names = find(*disabled, kMetricNames[m]);
    if (names == nullptr || !names->IsArray()) continue;
    for (const Json& name : names->GetArray()) {
      const auto at = std::find(std::begin(kLabelNames) + 1, std::end(kLabelNames), text_of(name));
      if (at != std::end(kLabelNames)) plan.blank[m] |= static_cast<std::uint16_t>(1u << (at - std::begin(kLabelNames)));
    }
  }
}

void read_extras(const Json* attributes, LabelPlan& plan) {
  const Json* metrics = attributes == nullptr ? nullptr : find(*attributes, "metrics");
  for (std::size_t m = 0; metrics != nullptr && m < kMetrics; ++m) {
    const Json* metric = find(*metrics, kMetricNames[m]);
    const Json* list = metric == nullptr ? nullptr : find(*metric, "extra_labels");
    if (list == nullptr || !list->IsArray()) continue;
    for (const Json& pair : list->GetArray()) {
      if (!pair.IsObject()) continue;
      for (const auto& member : pair.GetObject()) {
        std::string_view variable = text_of(member.value);
        if (variable.starts_with('$')) variable.remove_prefix(1);
        plan.extra[m].push_back({std::string(text_of(member.name)), sdk::Variable::compile(variable)});
      }
    }
  }
}

// Names that `disabled_labels` may blank, per metric; structural ones are left out.
struct Blankable {
  std::string_view metric;
  std::vector<std::string> labels;
};

std::vector<Blankable> blankable() {
  const std::vector<std::string> request = {"route", "service", "consumer", "node", "request_type", "request_llm_model", "llm_model"};
  const std::vector<std::string> llm = {"route_id", "service_id", "consumer", "node", "request_type", "request_llm_model", "llm_model"};
  const std::vector<std::string> status = {"route", "matched_uri", "matched_host", "service", "consumer", "node", "request_type",
                                           "request_llm_model", "llm_model", "response_source"};
  const std::vector<std::string> active = {"route", "route_id", "matched_uri", "matched_host", "service", "service_id",
                                           "consumer", "node", "request_type", "request_llm_model", "llm_model"};
  const std::vector<std::string> cache = {"route", "route_id", "service", "service_id", "consumer", "node", "request_type",
                                          "request_llm_model", "llm_model"};
  return {{"http_status", status},
          {"http_latency", request},
          {"bandwidth", request},
          {"llm_latency", llm},
          {"llm_prompt_tokens", llm},
          {"llm_completion_tokens", llm},
          {"llm_active_connections", active},
          {"llm_prompt_tokens_dist", llm},
          {"llm_completion_tokens_dist", llm},
          {"ai_cache_hits_total", cache},
          {"ai_cache_misses_total", cache},
          {"ai_cache_bypasses_total", cache},
          {"ai_cache_embedding_latency", cache}};
}

}  // namespace

schema::Node disabled_labels_schema() {
  schema::Node node = schema::object();
  for (const Blankable& b : blankable())
    node = node.property(std::string(b.metric), schema::array(schema::string().one_of_values(b.labels)));
  return node.closed().doc("labels whose value is left empty, by metric");
}

std::shared_ptr<const LabelPlan> label_plan(const Json* metadata, const Json* attributes) {
  // A process compiles with one node file, and with one metadata at a time: the last plan is nearly always the right one.
  static thread_local std::weak_ptr<const LabelPlan> last;
  static thread_local std::string last_source;
  static thread_local std::uint64_t last_id = 0;
  std::string source = (metadata == nullptr ? "" : to_json(*metadata)) + "\n" + (attributes == nullptr ? "" : to_json(*attributes));
  if (auto shared = last.lock(); shared && source == last_source) return shared;
  auto plan = std::make_shared<LabelPlan>();
  plan->id = ++last_id;
  read_blanks(metadata, *plan);
  read_extras(attributes, *plan);
  const std::string bounds = sdk::bounds_of(attributes);
  plan->latency_name = bounds == sdk::kDefaultBounds ? "http_latency" : "http_latency|" + bounds;
  plan->bounds = sdk::parse_bounds(bounds);
  last = plan;
  last_source = std::move(source);
  return plan;
}

std::string series_text(const LabelPlan& plan, Metric metric, const LabelValues& values,
                        const std::vector<std::string_view>& extra) {
  const auto m = static_cast<std::size_t>(metric);
  std::string out = metric == Metric::http_latency ? plan.latency_name : std::string(kMetricNames[m]);
  const auto add = [&](std::string_view name, std::string_view value) {
    out += out.back() == '{' ? "" : ",";
    out += name;
    out += "=\"";
    sdk::append_label_value(out, value);
    out += '"';
  };
  out += '{';
  for (std::size_t i = 0; i < kLabels; ++i) {
    if (!has_label(metric, static_cast<Label>(i))) continue;
    const bool blank = (plan.blank[m] >> i & 1) != 0;
    add(i == 0 && metric == Metric::http_status ? "code" : kLabelNames[i], blank ? std::string_view() : values[i]);
  }
  for (std::size_t i = 0; i < plan.extra[m].size(); ++i) add(plan.extra[m][i].name, i < extra.size() ? extra[i] : std::string_view());
  return out + '}';
}

}  // namespace sluice::plugins::prometheus
