#include "plugins/sdk/metric_help.hpp"

namespace sluice::sdk {

namespace {
struct Help {
  std::string_view metric, text;
};
constexpr Help kHelp[] = {
    {"nginx_http_current_connections", "Number of HTTP connections"},
    {"http_requests_total", "The total number of client requests since APISIX started"},
    {"etcd_reachable", "Config server etcd reachable from APISIX, 0 is unreachable"},
    {"node_info", "Info of APISIX node"},
    {"etcd_modify_indexes", "Etcd modify index for APISIX keys"},
    {"shared_dict_capacity_bytes", "The capacity of each nginx shared DICT since APISIX start"},
    {"shared_dict_free_space_bytes", "The free space of each nginx shared DICT since APISIX start"},
    {"upstream_status", "Upstream status from health check"},
    {"nginx_metric_errors_total", "Number of nginx-lua-prometheus errors"},
    {"batch_process_entries", "batch process remaining entries"},
    {"http_status", "HTTP status codes per service in APISIX"},
    {"http_latency", "HTTP request latency in milliseconds per service in APISIX"},
    {"bandwidth", "Total bandwidth in bytes consumed per service in APISIX"},
    {"sluice_limited_total", "Requests that a limiter refused or, in a dry run, would have refused"},
};
}  // namespace

std::string_view metric_help(std::string_view metric) noexcept {
  for (const Help& h : kHelp)
    if (h.metric == metric) return h.text;
  return {};
}

}  // namespace sluice::sdk
