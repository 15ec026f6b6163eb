// Which labels the metrics of a request carry, and the names of their series.
//
// The built-in labels are fixed in number and order; metadata may blank some (`disabled_labels`), the node file may append
// more (`extra_labels`). Both are settled when the plugin is compiled, in a LabelPlan that equal configurations share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/schema/schema.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::sdk {
class Arena;
class RequestContext;
}

namespace sluice::plugins::prometheus {

enum class Metric : std::uint8_t { http_status, http_latency, bandwidth };
inline constexpr std::size_t kMetrics = 3;

// What varies between requests. The first is `code` or `type`, which cannot be blanked.
enum class Label : std::uint8_t {
  lead, route, matched_uri, matched_host, service, consumer, node, request_type, request_llm_model, llm_model,
  response_source
};
inline constexpr std::size_t kLabels = 11;
using LabelValues = std::array<std::string_view, kLabels>;

struct ExtraLabel {
  std::string name;
  sdk::Variable variable;
};

struct LabelPlan {
  std::uint64_t id = 0;                                  // of this process; never used again
  std::array<std::uint16_t, kMetrics> blank{};           // bit per Label
  std::array<std::vector<ExtraLabel>, kMetrics> extra;
  std::string latency_name;                              // "http_latency" or "http_latency|<bounds>"
  std::vector<double> bounds;                            // of http_latency, ms, ascending
  bool has_extra() const noexcept { return !extra[0].empty() || !extra[1].empty() || !extra[2].empty(); }
};

// `metadata` of the plugin and `attributes` of the node file; either may be nullptr. Equal input gives the same plan for
// as long as somebody holds it.
std::shared_ptr<const LabelPlan> label_plan(const Json* metadata, const Json* attributes);

// `http_status{code="200",…}` in the catalogue's form. `extra`: the values of plan.extra[metric], in order.
std::string series_text(const LabelPlan& plan, Metric metric, const LabelValues& values,
                        const std::vector<std::string_view>& extra);

// The members that `disabled_labels` may have: every metric with labels, each with those that may be blanked.
schema::Node disabled_labels_schema();

}  // namespace sluice::plugins::prometheus
