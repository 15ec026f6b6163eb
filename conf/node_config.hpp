// The node file (config.yaml): what one process needs to know about this machine's gateway.
//
// load_node_config() reads the file (or the profile's), replaces ${{NAME}} and ${{NAME:=default}}, lays the result over
// the built-in defaults, checks types and ranges and gives a plain struct. Unknown keys are warnings that name the
// nearest known key; what is understood but not built yet becomes a notice. Nothing here opens a socket or a store.
//
// The bytes may be hostile: size, depth and the number of values after alias expansion are bounded, no exception escapes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/base/cidr.hpp"
#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "conf/schema/json_copy.hpp"

namespace sluice::conf {

using std::chrono::milliseconds;

enum class Role : std::uint8_t { traditional, control_plane, data_plane };
enum class Provider : std::uint8_t { embedded, etcd, yaml, json, xds };
enum class RouterChoice : std::uint8_t { host_uri, uri, uri_with_parameter };

struct Listen {
  std::string ip;  // "0.0.0.0", "::", "127.0.0.1"
  std::uint16_t port = 0;
  bool proxy_protocol = false;
  bool implied = false;  // the IPv6 twin of a listener without ip: no error when the machine has no IPv6
  friend bool operator==(const Listen&, const Listen&) = default;
};

struct AdminKeyEntry {
  std::string name;
  std::string key;  // empty: to be made at first start (role admin)
  std::string role;
  bool viewer() const noexcept { return role == "viewer"; }
};

struct AdminConfig {
  bool enabled = true;  // apisix.enable_admin, forced by the role
  bool key_required = true;
  bool keys_configured = true;  // false: `admin_key: ~`, everything is allowed
  std::vector<AdminKeyEntry> keys;
  bool allow_all = false;              // `allow_admin: ~`
  std::vector<std::string> allow_text; // as written
  CidrSet allow;
  Listen listen{"127.0.0.1", 9180};
  bool https = false;
  std::string ssl_cert, ssl_key, ssl_ca;
  bool cors = true;
  bool ui = true;
  std::string api_version = "v3";
};

struct EtcdConfig {
  std::vector<std::string> host;
  std::string prefix = "/apisix";  // also the prefix of keys in Admin API answers
  double timeout_s = 30;
  double watch_timeout_s = 50;
  int startup_retry = 2;
  double resync_delay_s = 5;
  double health_check_timeout_s = 10;
  std::string user, password;
  std::string tls_cert, tls_key, tls_sni;
  bool tls_verify = true;
};

struct SslConfig {
  bool enable = true;
  std::vector<Listen> listen;
  std::string trusted_certificate = "system";
  std::string protocols = "TLSv1.2 TLSv1.3";
  std::string ciphers;
  bool session_tickets = false;
  std::string fallback_sni;
};

struct StreamListen {
  std::string ip;
  std::uint16_t first = 0, last = 0;  // a port or a range
  bool udp = false;
  bool tls = false;
  bool proxy_protocol = false;
  bool proxy_protocol_to_upstream = false;
};

struct CacheZone {
  std::string name;
  std::uint64_t memory_size = 0;
  std::uint64_t disk_size = 0;  // 0: a memory zone
  std::string disk_path;
  std::string cache_levels;
};

struct SecretCacheConfig {
  int ttl_s = 300;
  int count = 512;
  int neg_ttl_s = 60;
  int neg_count = 512;
};

// The section `apisix`.
struct GatewayConfig {
  std::vector<Listen> listen;                       // node_listen, IPv6 twins and PROXY protocol listeners included
  std::optional<Listen> proxy_protocol_https;       // known, not opened yet
  bool dev_mode = false;
  bool reuseport = true;
  bool ipv6 = true;
  bool http2 = true;
  bool server_tokens = true;
  bool show_upstream_status = false;                // show_upstream_status_in_response_header
  bool delete_uri_tail_slash = false;
  bool normalize_uri_like_servlet = false;
  bool match_uri_encoded_slash = false;
  std::uint64_t max_post_args_bytes = 64ull << 20;  // 0: no limit
  RouterChoice router = RouterChoice::host_uri;
  std::string router_ssl = "radixtree_sni";
  bool http_proxy = true;                           // proxy_mode has http
  bool stream_proxy = false;                        // proxy_mode has stream
  std::vector<StreamListen> stream_listen;
  std::vector<std::string> dns_resolver;            // empty: /etc/resolv.conf
  std::optional<int> dns_resolver_valid_s;          // absent: TTL of the record
  double resolver_timeout_s = 5;
  bool resolver_search = true;                      // enable_resolv_search_opt
  SslConfig ssl;
  bool control_enabled = true;
  Listen control{"127.0.0.1", 9090};
  std::string control_router;
  std::optional<Listen> status;                     // absent: off
  bool disable_upstream_healthcheck = false;
  bool encrypt_fields = true;                       // data_encryption.enable_encrypt_fields
  std::vector<std::string> keyring;                 // empty: made at first start
  std::vector<std::string> trusted_text;
  CidrSet trusted_addresses;
  SecretCacheConfig secret_cache;
  bool tracing = false;
  std::string id;                                   // empty: made at first start
  milliseconds cache_ttl{10'000};
  std::vector<CacheZone> cache_zones;
};

struct AccessLogConfig {
  enum class Escape : std::uint8_t { normal, json, none };
  bool enabled = true;
  std::string path = "logs/access.log";
  std::size_t buffer = 16384;
  std::string format;
  Escape escape = Escape::normal;
};

// What is honoured of the section `nginx_config`.
struct ServerConfig {
  std::optional<int> worker_processes;              // nothing: auto
  std::uint64_t worker_rlimit_nofile = 20480;
  milliseconds worker_shutdown_timeout{240'000};
  std::size_t worker_connections = 10620;
  std::string error_log = "logs/error.log";
  std::string error_log_level = "warn";
  std::vector<std::string> envs;

  AccessLogConfig access_log;
  milliseconds keepalive_timeout{60'000};
  milliseconds client_header_timeout{60'000};
  milliseconds client_body_timeout{60'000};
  milliseconds send_timeout{10'000};
  std::uint64_t client_max_body_size = 0;           // 0: no limit
  bool underscores_in_headers = true;
  std::string real_ip_header = "X-Real-IP";
  bool real_ip_recursive = false;
  std::vector<std::string> real_ip_from_text;
  CidrSet real_ip_from;
  bool real_ip_from_unix = true;
  bool proxy_ssl_server_name = true;
  int upstream_keepalive = 320;
  int upstream_keepalive_requests = 1000;
  milliseconds upstream_keepalive_timeout{60'000};
  std::string charset = "utf-8";                    // empty: off
  std::map<std::string, std::uint64_t> shared_dict; // all lua_shared_dict and custom_lua_shared_dict sizes, bytes

  AccessLogConfig stream_access_log;
  std::vector<std::string> stream_real_ip_from;
};

// Limits on what comes in, section `sluice.limits`.
struct LimitsConfig {
  std::size_t request_line = 8 * 1024;       // 414 beyond
  std::size_t request_head = 32 * 1024;      // 431 beyond
  int request_fields = 100;                  // 431 beyond
  std::size_t trailers = 8 * 1024;
  std::size_t response_head = 64 * 1024;     // 502 beyond
  std::size_t body_spill = 64 * 1024;        // bodies that a plugin reads go to a file beyond
  std::size_t replay_buffer = 64 * 1024;     // kept of a request body for a second attempt
};

// The section `sluice`: what only this gateway has.
struct OwnConfig {
  enum class Affinity : std::uint8_t { automatic, off, list };
  std::string data_dir, run_dir;             // empty: below the prefix
  std::string temp_dir;                      // of spilled bodies; empty: the data folder
  std::string user, group;                   // empty: chosen at start
  std::optional<int> worker_processes;       // nothing: auto
  bool worker_processes_given = false;
  Affinity affinity = Affinity::automatic;
  bool affinity_asked = false;               // automatic because the file says so, not by default
  std::vector<int> affinity_cpus;
  std::map<std::string, std::uint64_t> shared_dict;  // name -> bytes
  int history = 100;                         // revisions kept
  bool seccomp = false;
  bool reuseport = true;
  bool via = false;
  bool trust_user_lua = false;               // JIT for user Lua, when there is Lua
  LimitsConfig limits;
};

struct PrometheusConfig {
  bool enable_export_server = true;
  Listen export_addr{"127.0.0.1", 9091};
  std::string export_uri = "/apisix/prometheus/metrics";
  std::string metric_prefix = "apisix_";
};

struct NodeConfig {
  std::string file;                          // what was read; empty: built-in defaults

  Role role = Role::traditional;
  Provider provider = Provider::embedded;
  AdminConfig admin;
  EtcdConfig etcd;
  GatewayConfig apisix;
  ServerConfig nginx;
  OwnConfig sluice;
  std::vector<std::string> plugins;          // enabled HTTP plugins, as listed
  bool plugins_listed = false;               // the file has its own list
  std::vector<std::string> stream_plugins;
  schema::JsonCopy plugin_attr;              // an object; defaults merged in
  PrometheusConfig prometheus;               // plugin_attr.prometheus, for whoever opens listeners
  schema::JsonCopy discovery;                // an object
  std::uint64_t graphql_max_size = 1048576;

  schema::JsonCopy raw;                      // the merged document, for inspection and `sluice -t`
  std::vector<std::string> warnings;         // unknown keys, ignored settings
  std::vector<std::string> notices;          // known, not built yet

  // Workers wanted: sluice.worker_processes, else nginx_config's; nothing means auto. dev mode: 1.
  std::optional<int> worker_processes() const;
  // Bytes of a shared store: sluice.shared_dict, else nginx_config's lua_shared_dict of that name, else `fallback`.
  std::uint64_t shared_dict_size(const std::string& name, std::uint64_t fallback) const;
  // Whether this node serves proxy traffic, has an Admin API, reads a resource file.
  bool serves_traffic() const noexcept { return role != Role::control_plane; }
  bool file_provider() const noexcept {
    return role == Role::data_plane && (provider == Provider::yaml || provider == Provider::json);
  }
};

using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();

// From bytes. `name` is what messages call the file.
Result<NodeConfig> parse_node_config(std::string_view yaml, std::string_view name, const Environment& env);

// `path`: the file, or a folder in which config.yaml (config-<profile>.yaml with APISIX_PROFILE) is looked for. An empty
// path gives the built-in defaults.
Result<NodeConfig> load_node_config(const std::string& path, const Environment& env);

// "60s", "1m30s", 60 (seconds); units ms s m h d w M y.
Result<milliseconds> parse_duration(std::string_view text);
// "16384", "10m", "1G"; units k m g.
Result<std::uint64_t> parse_size(std::string_view text);

}  // namespace sluice::conf
