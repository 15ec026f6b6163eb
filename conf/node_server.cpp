// Sections `nginx_config` (what is honoured of it), `sluice`, and the plugin lists with their attributes.
#include <algorithm>

#include "conf/base/log.hpp"
#include "conf/base/text.hpp"
#include "conf/node_reader.hpp"

namespace sluice::conf {
namespace {

constexpr int kMaxWorkers = 512;

void read_worker_count(Reader& in, const std::string& path, std::optional<int>& out) {
  const Json* v = in.value(path);
  if (v == nullptr || v->IsNull() || text_of(*v) == "auto") return;
  const auto n = v->IsInt() ? std::optional<int>(v->GetInt()) : text::to_int<int>(text_of(*v));
  if (!n || *n < 1 || *n > kMaxWorkers)
    return in.fail(path, "expected \"auto\" or a number from 1 to " + std::to_string(kMaxWorkers));
  out = *n;
}

void read_access_log(Reader& in, const std::string& prefix, AccessLogConfig& log) {
  in.boolean(prefix + "enable_access_log", log.enabled);
  in.text(prefix + "access_log", log.path);
  std::uint64_t buffer = log.buffer;
  in.size(prefix + "access_log_buffer", buffer);
  log.buffer = static_cast<std::size_t>(std::min<std::uint64_t>(buffer, 64u << 20));
  in.text(prefix + "access_log_format", log.format);
  std::string escape = "default";
  in.choice(prefix + "access_log_format_escape", escape, {"default", "json", "none"});
  log.escape = escape == "json"   ? AccessLogConfig::Escape::json
               : escape == "none" ? AccessLogConfig::Escape::none
                                  : AccessLogConfig::Escape::normal;
}

void read_real_ip(Reader& in, ServerConfig& s) {
  in.text("nginx_config.http.real_ip_header", s.real_ip_header);
  in.on_off("nginx_config.http.real_ip_recursive", s.real_ip_recursive);
  s.real_ip_from_text = {"127.0.0.1", "unix:"};
  in.texts("nginx_config.http.real_ip_from", s.real_ip_from_text);
  s.real_ip_from_unix = false;
  for (const auto& text : s.real_ip_from_text) {
    if (text == "unix:")
      s.real_ip_from_unix = true;
    else if (!s.real_ip_from.add(text))
      in.fail("nginx_config.http.real_ip_from", "expected IP addresses, ranges or \"unix:\", found \"" + text + "\"");
  }
  s.real_ip_from.seal();
}

void read_http(Reader& in, ServerConfig& s) {
  s.access_log.format = default_access_log_format();
  read_access_log(in, "nginx_config.http.", s.access_log);
  in.duration("nginx_config.http.keepalive_timeout", s.keepalive_timeout);
  in.duration("nginx_config.http.client_header_timeout", s.client_header_timeout);
  in.duration("nginx_config.http.client_body_timeout", s.client_body_timeout);
  in.duration("nginx_config.http.send_timeout", s.send_timeout);
  in.size("nginx_config.http.client_max_body_size", s.client_max_body_size);
  in.on_off("nginx_config.http.underscores_in_headers", s.underscores_in_headers);
  read_real_ip(in, s);
  in.boolean("nginx_config.http.proxy_ssl_server_name", s.proxy_ssl_server_name);
  in.integer("nginx_config.http.upstream.keepalive", s.upstream_keepalive, 0, 1'000'000);
  in.integer("nginx_config.http.upstream.keepalive_requests", s.upstream_keepalive_requests, 1, 1'000'000'000);
  in.duration("nginx_config.http.upstream.keepalive_timeout", s.upstream_keepalive_timeout);
  const Json* charset = in.value("nginx_config.http.charset");
  if (charset != nullptr && charset->IsFalse())
    s.charset.clear();
  else
    in.text("nginx_config.http.charset", s.charset);
  if (s.charset == "off") s.charset.clear();
  in.sizes("nginx_config.http.lua_shared_dict", s.shared_dict);
  in.sizes("nginx_config.http.custom_lua_shared_dict", s.shared_dict);
  in.sizes("nginx_config.meta.lua_shared_dict", s.shared_dict);
  in.sizes("nginx_config.stream.lua_shared_dict", s.shared_dict);
  in.accept({"nginx_config.http.variables_hash_max_size"});
}

void read_snippets(Reader& in) {
  for (const char* name : {"main", "http", "http_server", "http_server_location", "http_admin", "http_end", "stream"}) {
    const std::string path = "nginx_config." + std::string(name) + "_configuration_snippet";
    const Json* v = in.value(path);
    if (v != nullptr && v->IsString() && !text::trim(text_of(*v)).empty())
      in.warn(path + " (" + in.place(path) + ") is text of another server and is ignored");
  }
}

void read_affinity(Reader& in, NodeConfig& out) {
  const std::string path = "sluice.cpu_affinity";
  const Json* v = in.value(path, true);
  bool enabled = true;
  in.boolean("nginx_config.enable_cpu_affinity", enabled);
  const bool nginx_given = in.given("nginx_config.enable_cpu_affinity");
  OwnConfig& own = out.sluice;
  if (v == nullptr || v->IsNull()) {
    if (nginx_given && !enabled) own.affinity = OwnConfig::Affinity::off;
    own.affinity_asked = nginx_given && enabled;
    return;
  }
  if (text_of(*v) == "auto") {
    own.affinity = OwnConfig::Affinity::automatic;
    own.affinity_asked = true;
  } else if (text_of(*v) == "off" || v->IsFalse()) {
    own.affinity = OwnConfig::Affinity::off;
  } else if (v->IsArray()) {
    own.affinity = OwnConfig::Affinity::list;
    for (const auto& cpu : v->GetArray()) {
      if (!cpu.IsInt() || cpu.GetInt() < 0 || cpu.GetInt() > 4095)
        return in.fail(path, "expected CPU numbers from 0, found " + to_json(cpu));
      own.affinity_cpus.push_back(cpu.GetInt());
    }
    if (own.affinity_cpus.empty()) return in.fail(path, "expected \"auto\", \"off\" or a list of CPU numbers");
  } else {
    return in.fail(path, "expected \"auto\", \"off\" or a list of CPU numbers");
  }
  if (nginx_given && enabled != (own.affinity != OwnConfig::Affinity::off))
    in.fail(path, "disagrees with nginx_config.enable_cpu_affinity (" + in.place("nginx_config.enable_cpu_affinity") +
                      "); give one of them");
}

void read_limits(Reader& in, LimitsConfig& l) {
  const auto bytes = [&](const char* name, std::size_t& out, std::uint64_t least, std::uint64_t most) {
    const std::string path = "sluice.limits." + std::string(name);
    std::uint64_t value = out;
    in.size(path, value);
    if (value < least || value > most)
      return in.fail(path, "expected a size from " + std::to_string(least) + " to " + std::to_string(most) +
                               " bytes, found " + std::to_string(value));
    out = static_cast<std::size_t>(value);
  };
  // A head is read into one buffer; one of them must hold it whole, with room for what follows it.
  constexpr std::uint64_t kLargestHead = 112 * 1024, kLargestBuffer = 128 * 1024, kLargestTrailers = 8 * 1024;
  bytes("request_line", l.request_line, 256, kLargestHead);
  bytes("request_head", l.request_head, 1024, kLargestHead);
  in.integer("sluice.limits.request_fields", l.request_fields, 1, 10000);
  bytes("trailers", l.trailers, 0, kLargestTrailers);
  bytes("response_head", l.response_head, 1024, kLargestHead);
  bytes("body_spill", l.body_spill, 4096, kLargestBuffer);
  bytes("replay_buffer", l.replay_buffer, 4096, kLargestBuffer);
}

// What both sections can say must not disagree.
void check_twice_given(Reader& in, const NodeConfig& out) {
  const auto& ours = out.sluice;
  if (ours.worker_processes_given && in.given("nginx_config.worker_processes") &&
      ours.worker_processes != out.nginx.worker_processes)
    in.fail("sluice.worker_processes", "disagrees with nginx_config.worker_processes (" +
                                           in.place("nginx_config.worker_processes") + "); give one of them");
  for (const auto& [name, bytes] : ours.shared_dict) {
    const auto other = out.nginx.shared_dict.find(name);
    if (other != out.nginx.shared_dict.end() && other->second != bytes)
      in.fail("sluice.shared_dict." + name,
              "disagrees with the lua_shared_dict of that name in nginx_config; give "
              "one of them");
  }
}

}  // namespace

void read_nginx_config(Reader& in, NodeConfig& out, const Environment& env) {
  ServerConfig& s = out.nginx;
  read_worker_count(in, "nginx_config.worker_processes", s.worker_processes);
  if (const auto workers = env("APISIX_WORKER_PROCESSES"); workers && !workers->empty() && *workers != "auto") {
    const auto n = text::to_int<int>(*workers);
    if (!n || *n < 1 || *n > kMaxWorkers)
      in.fail_plain("failed to validate config: APISIX_WORKER_PROCESSES: expected \"auto\" or a number from 1 to " +
                    std::to_string(kMaxWorkers));
    else
      s.worker_processes = *n;
  }
  in.integer("nginx_config.worker_rlimit_nofile", s.worker_rlimit_nofile, 1, 1'000'000'000);
  in.duration("nginx_config.worker_shutdown_timeout", s.worker_shutdown_timeout);
  in.integer("nginx_config.event.worker_connections", s.worker_connections, 1, 10'000'000);
  in.text("nginx_config.error_log", s.error_log);
  in.choice("nginx_config.error_log_level", s.error_log_level,
            {"debug", "info", "notice", "warn", "error", "crit", "alert", "emerg"});
  in.texts("nginx_config.envs", s.envs);
  read_http(in, s);
  s.stream_access_log.enabled = false;
  s.stream_access_log.path = "logs/access_stream.log";
  s.stream_access_log.format = default_stream_access_log_format();
  read_access_log(in, "nginx_config.stream.", s.stream_access_log);
  in.texts("nginx_config.stream.real_ip_from", s.stream_real_ip_from);
  read_snippets(in);
  in.accept({"nginx_config.max_pending_timers", "nginx_config.max_running_timers", "nginx_config.user"});
}

void read_own(Reader& in, NodeConfig& out) {
  OwnConfig& own = out.sluice;
  own.worker_processes_given = in.given("sluice.worker_processes") && !in.is_null("sluice.worker_processes");
  read_worker_count(in, "sluice.worker_processes", own.worker_processes);
  read_affinity(in, out);
  in.sizes("sluice.shared_dict", own.shared_dict);
  in.text("sluice.data_dir", own.data_dir);
  in.text("sluice.run_dir", own.run_dir);
  in.text("sluice.temp_dir", own.temp_dir);
  in.text("sluice.user", own.user);
  in.text("sluice.group", own.group);
  in.integer("sluice.history", own.history, 0, 1'000'000);
  in.boolean("sluice.seccomp", own.seccomp);
  own.reuseport = out.apisix.reuseport;
  in.boolean("sluice.reuseport", own.reuseport);
  in.boolean("sluice.via", own.via);
  in.boolean("sluice.trust_user_lua", own.trust_user_lua);
  read_limits(in, own.limits);
  check_twice_given(in, out);
}

void read_plugins(Reader& in, NodeConfig& out) {
  out.plugins = default_plugins();
  out.plugins_listed = in.given("plugins");
  in.texts("plugins", out.plugins);
  out.stream_plugins = default_stream_plugins();
  in.texts("stream_plugins", out.stream_plugins);
  in.integer("graphql.max_size", out.graphql_max_size, 1, 1'000'000'000);

  JsonDoc attr;
  static_cast<Json&>(attr) = copy_json(default_plugin_attr(), attr.GetAllocator());
  const Json* given = in.value("plugin_attr", true);
  if (given != nullptr && given->IsObject())
    merge_json(attr, *given, attr.GetAllocator());
  else if (given != nullptr && !given->IsNull())
    in.fail_type("plugin_attr", "table", *given);
  out.plugin_attr = schema::JsonCopy(attr);

  PrometheusConfig& p = out.prometheus;
  in.boolean("plugin_attr.prometheus.enable_export_server", p.enable_export_server);
  in.text("plugin_attr.prometheus.export_addr.ip", p.export_addr.ip);
  in.integer("plugin_attr.prometheus.export_addr.port", p.export_addr.port, 1, 65535);
  in.text("plugin_attr.prometheus.export_uri", p.export_uri);
  in.text("plugin_attr.prometheus.metric_prefix", p.metric_prefix);

  if (const Json* discovery = in.value("discovery", true); discovery != nullptr && discovery->IsObject()) {
    out.discovery = schema::JsonCopy(*discovery);
    if (discovery->MemberCount() != 0) in.notice("discovery: service discovery is not built yet");
  }
  for (const char* name : {"ext-plugin", "wasm", "xrpc"})
    if (const Json* v = in.value(name, true); v != nullptr && !v->IsNull())
      in.warn(std::string(name) + ": external runners are not supported; the section is ignored");
}

}  // namespace sluice::conf
