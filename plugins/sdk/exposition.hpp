// The metrics text: every series of shared memory and the node's own gauges, in the exposition format.
//
// Rendered at the scrape from the live cells, so it is never older than the answer. Series are stored under
// `<metric>[|bounds]{labels}`, without the prefix; `|1,2,5` lists a histogram's bounds where they are not the usual ones.
// Sorted bytewise by full name; HELP and TYPE before the first series of a metric; a metric without series prints nothing.
//
// An Exposition keeps, per series with `expire`, when its value was last seen to change: a series that rests for longer
// is left out and starts from zero when it moves again. Used by the metrics listener and, through public-api, by workers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "conf/base/clock.hpp"
#include "conf/base/json.hpp"

namespace sluice::shm {
class Catalog;
}

namespace sluice::sdk {

inline constexpr std::string_view kDefaultBounds = "1,2,5,10,20,50,100,200,500,1000,2000,5000,10000,30000,60000";
std::vector<double> parse_bounds(std::string_view list);   // "1,2.5" -> numbers; nothing usable: empty
// plugin_attr.prometheus.default_buckets as such a list; nullptr or absent: kDefaultBounds.
std::string bounds_of(const Json* attributes);

// A gauge that somebody else knows: `upstream_status`.
struct GaugeRow {
  std::string metric;      // without prefix
  std::string labels;      // `name="x",ip="1.2.3.4"`, escaped
  double value = 0;
};

class Exposition {
 public:
  // attributes: plugin_attr.prometheus of the node file, or nullptr.
  Exposition(shm::Catalog& catalog, const Json* attributes);
  std::string render(TimePoint now, const std::vector<GaugeRow>& more = {});

 private:
  struct Row;
  struct Seen {
    std::vector<std::uint64_t> integers, base_integers;
    double real = 0, base_real = 0;
    TimePoint changed{};
    bool hidden = false;
  };
  void collect(std::vector<Row>& rows, TimePoint now);
  void add_node_rows(std::vector<Row>& rows) const;
  bool settle_expiry(const std::string& text, std::string_view metric, Row& row, TimePoint now);

  shm::Catalog& catalog_;
  std::string prefix_ = "apisix_";
  std::string hostname_;
  std::map<std::string, double, std::less<>> expire_;    // metric -> seconds
  std::unordered_map<std::string, Seen> seen_;
};

// `\`, `"` and line ends escaped; cut before the first octet that is no UTF-8.
void append_label_value(std::string& out, std::string_view value);

}  // namespace sluice::sdk
