// The complete table of variable names.
#include "plugins/sdk/variable.hpp"

#include "conf/base/text.hpp"
#include "plugins/sdk/variable_getters.hpp"

namespace sluice::sdk {

namespace {

VariableLimits g_limits;

using Ctx = RequestContext;
using Arg = std::string_view;

struct Plain {
  std::string_view name;
  Variable::Getter get;
  bool body = false;
};

// A view of the context, absent when empty / always there.
#define SLUICE_ABSENT_IF_EMPTY(field) [](Ctx& c, Arg) noexcept -> Value { return text_or_absent(c.field); }
#define SLUICE_ALWAYS(field) [](Ctx& c, Arg) noexcept -> Value { return Value::of(c.field); }
#define SLUICE_NUMBER(expr) [](Ctx& c, Arg) noexcept -> Value { return Value::of(decimal(c.arena, expr)); }
#define SLUICE_NEVER [](Ctx&, Arg) noexcept -> Value { return Value::absent(); }

Value header_field(Ctx& c, FieldId id) noexcept {
  const Field* f = c.request_headers.find(id);
  return f == nullptr ? Value::absent() : Value::of(f->value);
}

Value request_uri(Ctx& c, Arg) noexcept {
  if (c.query.empty()) return Value::of(c.path);
  return Value::of(c.arena.concat({c.path, "?", c.query}));
}

Value binary_remote_addr(Ctx& c, Arg) noexcept {
  const auto* bytes = reinterpret_cast<const char*>(c.client_address.bytes.data());
  return Value::of(c.client_address.is_v4() ? std::string_view(bytes + 12, 4) : std::string_view(bytes, 16));
}

Value consumer_name(Ctx& c, Arg) noexcept { return c.consumer ? Value::of(c.consumer->name) : Value::absent(); }
Value consumer_group(Ctx& c, Arg) noexcept {
  return c.consumer ? text_or_absent(c.consumer->group_id) : Value::absent();
}

Value status(Ctx& c, Arg) noexcept {
  return c.status == 0 ? Value::of("000") : Value::of(decimal(c.arena, c.status));
}

Value args(Ctx& c, Arg) noexcept { return c.has_query ? Value::of(c.query) : Value::absent(); }

Value original(bool set, std::string_view text) noexcept {
  return set || !text.empty() ? Value::of(text) : Value::absent();
}

Value limit_remaining(Ctx& c, Arg) noexcept {
  return c.limit_remaining < 0 ? Value::absent()
                               : Value::of(decimal(c.arena, static_cast<std::uint64_t>(c.limit_remaining)));
}

constexpr Plain kPlain[] = {
    // gateway
    {"consumer_name", consumer_name},
    {"consumer_group_id", consumer_group},
    {"route_id", SLUICE_ABSENT_IF_EMPTY(route_id)},
    {"route_name", SLUICE_ABSENT_IF_EMPTY(route_name)},
    {"service_id", SLUICE_ABSENT_IF_EMPTY(service_id)},
    {"service_name", SLUICE_ABSENT_IF_EMPTY(service_name)},
    {"matched_uri", SLUICE_ABSENT_IF_EMPTY(matched_uri)},
    {"matched_host", SLUICE_ABSENT_IF_EMPTY(matched_host)},
    {"balancer_ip", [](Ctx& c, Arg) noexcept { return c.last_attempt() ? Value::of(c.last_attempt()->ip) : Value::absent(); }},
    {"balancer_port",
     [](Ctx& c, Arg) noexcept {
       return c.last_attempt() ? Value::of(decimal(c.arena, c.last_attempt()->port)) : Value::absent();
     }},
    {"upstream_unresolved_host",
     [](Ctx& c, Arg) noexcept { return c.last_attempt() ? text_or_absent(c.last_attempt()->host) : Value::absent(); }},
    {"upstream_scheme", SLUICE_ALWAYS(upstream_scheme)},
    {"upstream_host", [](Ctx& c, Arg) noexcept { return Value::of(c.upstream_host.empty() ? c.authority : c.upstream_host); }},
    {"upstream_uri", SLUICE_ALWAYS(upstream_uri)},
    {"real_request_uri", SLUICE_ALWAYS(target)},
    {"original_x_forwarded_proto", [](Ctx& c, Arg) noexcept { return original(c.forwarded_proto_set, c.original_forwarded_proto); }},
    {"original_x_forwarded_host", [](Ctx& c, Arg) noexcept { return original(c.forwarded_host_set, c.original_forwarded_host); }},
    {"original_x_forwarded_port", [](Ctx& c, Arg) noexcept { return original(c.forwarded_port_set, c.original_forwarded_port); }},
    {"original_x_forwarded_for", [](Ctx& c, Arg) noexcept { return original(c.forwarded_for_set, c.original_forwarded_for); }},
    {"original_forwarded", SLUICE_ABSENT_IF_EMPTY(original_forwarded)},
    {"request_line", SLUICE_ALWAYS(request_line)},
    {"apisix_request_id",
     [](Ctx& c, Arg) noexcept {
       return Value::of(c.apisix_request_id.empty() ? request_id_of(c) : c.apisix_request_id);
     }},
    {"apisix_upstream_response_time", getters::upstream_response_time},
    {"request_type", [](Ctx&, Arg) noexcept { return Value::of("traditional_http"); }},
    {"rate_limiting_info", SLUICE_ABSENT_IF_EMPTY(rate_limiting_info)},
    {"graphql_operation", getters::graphql_operation, true},
    {"graphql_name", getters::graphql_name, true},
    {"graphql_root_fields", getters::graphql_root_fields, true},
    {"limit_plugin", SLUICE_ABSENT_IF_EMPTY(limit_plugin)},
    {"limit_key", SLUICE_ABSENT_IF_EMPTY(limit_key)},
    {"limit_verdict", SLUICE_ABSENT_IF_EMPTY(limit_verdict)},
    {"limit_remaining", limit_remaining},
    {"mqtt_client_id", SLUICE_NEVER},
    {"resp_body", SLUICE_NEVER},
    // server
    {"uri", SLUICE_ALWAYS(path)},
    {"document_uri", SLUICE_ALWAYS(path)},
    {"request_uri", request_uri},
    {"args", args},
    {"query_string", args},
    {"is_args", [](Ctx& c, Arg) noexcept { return Value::of(c.query.empty() ? "" : "?"); }},
    {"host", SLUICE_ALWAYS(host)},
    {"hostname", [](Ctx& c, Arg) noexcept { return c.process ? Value::of(c.process->hostname) : Value::absent(); }},
    {"request", SLUICE_ALWAYS(request_line)},
    {"request_method", [](Ctx& c, Arg) noexcept { return Value::of(c.upstream_method.empty() ? c.method : c.upstream_method); }},
    {"request_time", getters::request_time},
    {"request_length", SLUICE_NUMBER(c.request_bytes)},
    {"request_id", [](Ctx& c, Arg) noexcept { return Value::of(request_id_of(c)); }},
    {"request_body", [](Ctx& c, Arg) noexcept { return c.request_body ? Value::of(*c.request_body) : Value::absent(); }, true},
    {"content_type", [](Ctx& c, Arg) noexcept { return header_field(c, FieldId::content_type); }},
    {"content_length", [](Ctx& c, Arg) noexcept { return header_field(c, FieldId::content_length); }},
    {"scheme", SLUICE_ALWAYS(scheme)},
    {"https", [](Ctx& c, Arg) noexcept { return Value::of(c.scheme == "https" ? "on" : ""); }},
    {"server_addr", SLUICE_ALWAYS(server_address_text)},
    {"server_name", [](Ctx&, Arg) noexcept { return Value::of("_"); }},
    {"server_port", SLUICE_NUMBER(c.server_port)},
    {"server_protocol", [](Ctx& c, Arg) noexcept { return Value::of(c.version_minor == 0 ? "HTTP/1.0" : "HTTP/1.1"); }},
    {"remote_addr", SLUICE_ALWAYS(client_text)},
    {"remote_port", SLUICE_NUMBER(c.client_port)},
    {"remote_user", getters::remote_user},
    {"realip_remote_addr", SLUICE_ALWAYS(peer_text)},
    {"realip_remote_port", SLUICE_NUMBER(c.peer_port)},
    {"binary_remote_addr", binary_remote_addr},
    {"proxy_add_x_forwarded_for", getters::forwarded_for},
    {"status", status},
    {"body_bytes_sent", SLUICE_NUMBER(c.body_bytes_sent)},
    {"bytes_sent", SLUICE_NUMBER(c.bytes_sent)},
    {"time_local", getters::time_local},
    {"time_iso8601", getters::time_iso8601},
    {"msec", getters::msec},
    {"connection", SLUICE_NUMBER(c.connection_id)},
    {"connection_requests", SLUICE_NUMBER(c.connection_requests)},
    {"upstream_addr", getters::upstream_addr},
    {"upstream_status", getters::upstream_status},
    {"upstream_response_time", getters::upstream_response_time},
    {"upstream_connect_time", getters::upstream_connect_time},
    {"upstream_header_time", getters::upstream_header_time},
    {"upstream_response_length", getters::upstream_response_length},
    {"upstream_bytes_sent", getters::upstream_bytes_sent},
    {"upstream_bytes_received", getters::upstream_bytes_received},
    {"upstream_cache_status", SLUICE_ABSENT_IF_EMPTY(upstream_cache_status)},
    {"ssl_protocol", SLUICE_NEVER},
    {"ssl_cipher", SLUICE_NEVER},
    {"ssl_server_name", SLUICE_NEVER},
    {"ssl_client_verify", SLUICE_NEVER},
    {"ssl_client_s_dn", SLUICE_NEVER},
    {"ssl_client_i_dn", SLUICE_NEVER},
    {"ssl_client_serial", SLUICE_NEVER},
    {"ssl_client_fingerprint", SLUICE_NEVER},
    {"ssl_session_reused", SLUICE_NEVER},
    {"pid", [](Ctx& c, Arg) noexcept { return c.process ? Value::of(decimal(c.arena, static_cast<std::uint64_t>(c.process->pid))) : Value::absent(); }},
};
#undef SLUICE_ABSENT_IF_EMPTY
#undef SLUICE_ALWAYS
#undef SLUICE_NUMBER
#undef SLUICE_NEVER

struct Prefixed {
  std::string_view prefix;
  Variable::Getter get;
  bool header_name = false;   // the rest is lower-cased, '-' becomes '_'
  bool body = false;
};

constexpr Prefixed kPrefixed[] = {
    {"arg_", getters::arg},
    {"http_", getters::http, true},
    {"cookie_", getters::cookie},
    {"post_arg_", getters::form_field, false, true},
    {"post_arg.", getters::post_arg_path, false, true},
    {"uri_param_", getters::uri_param},
    {"sent_http_", getters::sent_http, true},
    {"upstream_http_", getters::upstream_http, true},
};

// Names that the gateway or its upstreams trust: `X_Real_IP` must never be read as `X-Real-IP`.
bool trusted_name(std::string_view variable) noexcept {
  constexpr std::string_view kTrusted[] = {"x_forwarded_for",      "x_forwarded_proto",      "x_forwarded_host",
                                           "x_forwarded_port",     "x_real_ip",              "x_consumer_username",
                                           "x_consumer_custom_id", "x_credential_identifier", "forwarded"};
  for (auto name : kTrusted)
    if (name == variable) return true;
  return false;
}

}  // namespace

void set_variable_limits(const VariableLimits& limits) noexcept { g_limits = limits; }
const VariableLimits& variable_limits() noexcept { return g_limits; }

Variable Variable::compile(std::string_view name) {
  Variable v;
  v.name_ = name;
  for (const Plain& p : kPlain) {
    if (p.name != name) continue;
    v.getter_ = p.get;
    v.needs_body_ = p.body;
    return v;
  }
  for (const Prefixed& p : kPrefixed) {
    if (name.size() <= p.prefix.size() || !name.starts_with(p.prefix)) continue;
    v.argument_ = name.substr(p.prefix.size());
    v.getter_ = p.get;
    v.needs_body_ = p.body;
    if (p.header_name) {
      for (char& c : v.argument_) c = c == '-' ? '_' : text::lower(c);
      if (p.get == getters::http && trusted_name(v.argument_)) v.getter_ = getters::http_trusted;
    }
    return v;
  }
  return v;
}

}  // namespace sluice::sdk
