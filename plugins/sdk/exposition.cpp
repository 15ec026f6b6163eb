#include "plugins/sdk/exposition.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "conf/base/text.hpp"
#include "plugins/sdk/metric_help.hpp"
#include "shm/catalog.hpp"

namespace sluice::sdk {

struct Exposition::Row {
  std::string metric;            // with prefix
  std::string labels;            // without braces
  shm::SeriesKind kind = shm::SeriesKind::gauge;
  std::vector<std::uint64_t> integers;
  double real = 0;
  std::vector<double> bounds;    // histogram
  std::string_view help;
};

std::vector<double> parse_bounds(std::string_view list) {
  std::vector<double> bounds;
  for (const std::string_view part : text::split(list, ','))
    if (const auto n = text::to_double(text::trim(part))) bounds.push_back(*n);
  std::sort(bounds.begin(), bounds.end());
  if (bounds.size() >= shm::Cells::kMaxBuckets) bounds.resize(shm::Cells::kMaxBuckets - 1);
  return bounds;
}

std::string bounds_of(const Json* attributes) {
  const Json* given = attributes == nullptr ? nullptr : find(*attributes, "default_buckets");
  if (given == nullptr || !given->IsArray() || given->Empty()) return std::string(kDefaultBounds);
  std::string list;
  for (const Json& n : given->GetArray())
    if (n.IsNumber()) list += (list.empty() ? "" : ",") + number_text(n.GetDouble());
  return list.empty() ? std::string(kDefaultBounds) : list;
}

namespace {

// Length of the UTF-8 sequence at s, 0 when it is none.
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char c = byte(0);
  const std::size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (n == 0 || n > s.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return n;
}

}  // namespace

void append_label_value(std::string& out, std::string_view value) {
  for (std::size_t i = 0; i < value.size();) {
    const std::size_t n = utf8_length(value.substr(i));
    if (n == 0) return;
    if (value[i] == '\\' || value[i] == '"') out.push_back('\\');
    if (value[i] == '\n') out += "\\n";
    else out.append(value.substr(i, n));
    i += n;
  }
}

Exposition::Exposition(shm::Catalog& catalog, const Json* attributes) : catalog_(catalog) {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0) hostname_ = name;
  if (attributes == nullptr) return;
  if (const Json* prefix = find(*attributes, "metric_prefix"); prefix != nullptr && prefix->IsString())
    prefix_ = text_of(*prefix);
  const Json* metrics = find(*attributes, "metrics");
  if (metrics == nullptr || !metrics->IsObject()) return;
  for (const auto& m : metrics->GetObject()) {
    const Json* seconds = find(m.value, "expire");
    if (seconds != nullptr && seconds->IsNumber() && seconds->GetDouble() > 0)
      expire_[std::string(text_of(m.name))] = seconds->GetDouble();
  }
}

void Exposition::collect(std::vector<Row>& rows, TimePoint now) {
  catalog_.metrics().for_each([&](const shm::SeriesTotal& total) {
    const auto brace = total.text.find('{');
    const std::string_view head = total.text.substr(0, brace);
    const auto bar = head.find('|');
    const std::string_view metric = head.substr(0, bar);
    Row row;
    row.kind = total.kind;
    row.metric = metric.starts_with("sluice_") ? std::string(metric) : prefix_ + std::string(metric);
    row.help = metric_help(metric);
    if (brace != std::string_view::npos && total.text.ends_with('}'))
      row.labels = total.text.substr(brace + 1, total.text.size() - brace - 2);
    row.integers.assign(total.integers.begin(), total.integers.end());
    row.real = total.real;
    if (row.kind == shm::SeriesKind::histogram)
      row.bounds = parse_bounds(bar == std::string_view::npos ? kDefaultBounds : head.substr(bar + 1));
    const bool touched = row.real != 0 || std::any_of(row.integers.begin(), row.integers.end(), [](auto n) { return n != 0; });
    if (!touched && row.kind != shm::SeriesKind::gauge) return;
    if (!expire_.empty() && !settle_expiry(std::string(total.text), metric, row, now)) return;
    rows.push_back(std::move(row));
  });
}

// False: the series rests for longer than its metric's `expire`.
bool Exposition::settle_expiry(const std::string& text, std::string_view metric, Row& row, TimePoint now) {
  const auto limit = expire_.find(metric);
  if (limit == expire_.end()) return true;
  Seen& seen = seen_[text];
  if (seen.integers != row.integers || seen.real != row.real) {
    seen.integers = row.integers;
    seen.real = row.real;
    seen.changed = now;
    seen.hidden = false;
  }
  const double rested = std::chrono::duration<double>(now - seen.changed).count();
  if (seen.hidden || rested > limit->second) {
    seen.hidden = true;
    seen.base_integers = seen.integers;
    seen.base_real = seen.real;
    return false;
  }
  if (row.kind == shm::SeriesKind::gauge) return true;
  for (std::size_t i = 0; i < row.integers.size() && i < seen.base_integers.size(); ++i)
    row.integers[i] -= seen.base_integers[i];
  row.real -= seen.base_real;
  return true;
}

void Exposition::add_node_rows(std::vector<Row>& rows) const {
  const auto add = [&](std::string_view metric, std::string labels, double value, bool counter = false) {
    Row row;
    row.metric = prefix_ + std::string(metric);
    row.help = metric_help(metric);
    row.labels = std::move(labels);
    row.kind = counter ? shm::SeriesKind::counter_real : shm::SeriesKind::gauge;
    row.real = value;
    rows.push_back(std::move(row));
  };
  const shm::WorkerTotals totals = catalog_.workers().totals();
  const std::pair<const char*, std::uint64_t> states[] = {{"active", totals.active},   {"accepted", totals.accepted},
                                                          {"handled", totals.handled}, {"reading", totals.reading},
                                                          {"writing", totals.writing}, {"waiting", totals.waiting}};
  for (const auto& [state, n] : states)
    add("nginx_http_current_connections", std::string("state=\"") + state + "\"", static_cast<double>(n));
  add("http_requests_total", "", static_cast<double>(totals.requests), true);
  std::string node = "hostname=\"";
  append_label_value(node, hostname_);
  add("node_info", node + "\",version=\"" SLUICE_VERSION "\"", 1);
  add("nginx_metric_errors_total", "", static_cast<double>(catalog_.metrics().usage().overflows), true);
  for (const shm::NamedStats& dict : catalog_.all_stats()) {
    const std::string label = "name=\"" + std::string(dict.name) + "\"";
    const double bytes = static_cast<double>(dict.stats.bytes);
    const double used = dict.stats.capacity == 0 ? 0 : static_cast<double>(dict.stats.entries) / static_cast<double>(dict.stats.capacity);
    add("shared_dict_capacity_bytes", label, bytes);
    add("shared_dict_free_space_bytes", label, std::floor(bytes * (1 - std::min(used, 1.0))));
  }
}

namespace {

void append_line(std::string& out, std::string_view metric, std::string_view suffix, std::string_view labels,
                 std::string_view le, const std::string& value) {
  out += metric;
  out += suffix;
  if (!labels.empty() || !le.empty()) {
    out += '{';
    out += labels;
    if (!le.empty()) {
      if (!labels.empty()) out += ',';
      out += "le=\"";
      out += le;
      out += '"';
    }
    out += '}';
  }
  out += ' ';
  out += value;
  out += '\n';
}

const char* type_text(shm::SeriesKind kind) {
  switch (kind) {
    case shm::SeriesKind::counter:
    case shm::SeriesKind::counter_real: return "counter";
    case shm::SeriesKind::gauge: return "gauge";
    case shm::SeriesKind::histogram: return "histogram";
  }
  return "untyped";
}

}  // namespace

std::string Exposition::render(TimePoint now, const std::vector<GaugeRow>& more) {
  std::vector<Row> rows;
  collect(rows, now);
  add_node_rows(rows);
  for (const GaugeRow& gauge : more) {
    Row row;
    row.metric = prefix_ + gauge.metric;
    row.help = metric_help(gauge.metric);
    row.labels = gauge.labels;
    row.real = gauge.value;
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.metric != b.metric ? a.metric < b.metric : a.labels < b.labels;
  });
  std::string out;
  out.reserve(rows.size() * 200);
  for (auto first = rows.begin(); first != rows.end();) {
    const auto last = std::find_if(first, rows.end(), [&](const Row& r) { return r.metric != first->metric; });
    if (!first->help.empty()) out += "# HELP " + first->metric + " " + std::string(first->help) + "\n";
    out += "# TYPE " + first->metric + " " + type_text(first->kind) + "\n";
    if (first->kind != shm::SeriesKind::histogram) {
      for (auto r = first; r != last; ++r)
        append_line(out, r->metric, "", r->labels, "",
                    r->kind == shm::SeriesKind::counter ? std::to_string(r->integers.empty() ? 0 : r->integers[0]) : number_text(r->real));
      first = last;
      continue;
    }
    for (auto r = first; r != last; ++r) {
      std::uint64_t below = 0;
      for (std::size_t i = 0; i < r->integers.size(); ++i) {
        below += r->integers[i];
        const bool top = i + 1 == r->integers.size() || i >= r->bounds.size();
        if (below != 0 && !top) append_line(out, r->metric, "_bucket", r->labels, number_text(r->bounds[i]), std::to_string(below));
      }
      append_line(out, r->metric, "_bucket", r->labels, "+Inf", std::to_string(below));
    }
    const auto count_of = [](const Row& r) {
      std::uint64_t n = 0;
      for (const auto i : r.integers) n += i;
      return n;
    };
    for (auto r = first; r != last; ++r) append_line(out, r->metric, "_count", r->labels, "", std::to_string(count_of(*r)));
    for (auto r = first; r != last; ++r) append_line(out, r->metric, "_sum", r->labels, "", number_text(r->real));
    first = last;
  }
  return out;
}

}  // namespace sluice::sdk
