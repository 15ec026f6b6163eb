// The upstream object: nodes, balancing, timeouts, health checks, TLS towards nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "conf/schema/json_copy.hpp"

namespace sluice::conf {

struct Timeout {
  double connect = 60, send = 60, read = 60;  // seconds
  friend bool operator==(const Timeout&, const Timeout&) = default;
};

struct UpstreamNode {
  std::string host;          // name, IPv4, or IPv6 without brackets
  std::uint16_t port = 0;    // 0: not given, the scheme decides
  std::int64_t weight = 0;
  std::int64_t priority = 0;
  schema::JsonCopy metadata;
};

enum class BalancerType : std::uint8_t { roundrobin, chash, ewma, least_conn, unknown };
enum class HashOn : std::uint8_t { vars, header, cookie, consumer, vars_combinations };
enum class Scheme : std::uint8_t { http, https, grpc, grpcs, tcp, udp, tls, kafka };
enum class PassHost : std::uint8_t { pass, node, rewrite };
enum class CheckType : std::uint8_t { http, https, tcp };

std::string_view name_of(Scheme scheme) noexcept;
std::string_view name_of(BalancerType type) noexcept;
std::string_view name_of(CheckType type) noexcept;
// 80 for http and grpc, 443 for https and grpcs, 0 for others.
std::uint16_t default_port(Scheme scheme) noexcept;

struct KeepalivePool {
  int size = 320;
  double idle_timeout = 60;  // seconds; 0: not kept
  int requests = 1000;
  friend bool operator==(const KeepalivePool&, const KeepalivePool&) = default;
};

// Thresholds of one direction. interval is for active checks only; 0: no probing of nodes in that state.
struct HealthyRule {
  int interval = 0;
  std::vector<int> http_statuses;
  int successes = 0;
};
struct UnhealthyRule {
  int interval = 0;
  std::vector<int> http_statuses;
  int http_failures = 0, tcp_failures = 0, timeouts = 0;
};

struct ActiveCheck {
  CheckType type = CheckType::http;
  double timeout = 1;  // seconds
  int concurrency = 10;
  std::string host;        // empty: node's
  std::uint16_t port = 0;  // 0: node's
  std::string http_method = "GET", http_path = "/", http_req_body;
  bool https_verify_certificate = true;
  std::vector<std::string> req_headers;
  HealthyRule healthy{0, {200, 302}, 2};
  UnhealthyRule unhealthy{0, {429, 404, 500, 501, 502, 503, 504, 505}, 5, 2, 3};
};

struct PassiveCheck {
  CheckType type = CheckType::http;
  HealthyRule healthy;
  UnhealthyRule unhealthy;
};

struct Checks {
  ActiveCheck active;
  std::optional<PassiveCheck> passive;
};

struct UpstreamTls {
  std::string client_cert, client_key, client_cert_id;
  bool verify = false;
};

struct Upstream {
  std::string id, name;
  std::vector<std::pair<std::string, std::string>> labels;
  BalancerType type = BalancerType::roundrobin;
  std::string type_text = "roundrobin";
  bool has_nodes = false;             // false: discovery
  std::vector<UpstreamNode> nodes;    // map form: in the order of the document
  std::string service_name, discovery_type;
  schema::JsonCopy discovery_args;
  HashOn hash_on = HashOn::vars;
  std::string key;
  Scheme scheme = Scheme::http;
  std::optional<std::int64_t> retries;
  double retry_timeout = 0;           // seconds; 0: no limit
  std::optional<Timeout> timeout;
  PassHost pass_host = PassHost::pass;
  std::string upstream_host;
  std::optional<Checks> checks;
  std::optional<KeepalivePool> keepalive_pool;
  UpstreamTls tls;
};

// "[v6]:port", "[v6]", bare v6, "host:port", "host". Port 0 when there is none; the host comes without brackets.
struct HostPort {
  std::string host;
  std::optional<std::int64_t> port;   // as written, not range-checked
};
HostPort split_node_address(std::string_view address);

}  // namespace sluice::conf
