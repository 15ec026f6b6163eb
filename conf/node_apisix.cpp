// Section `apisix`: listeners, routing options, TLS, DNS, data encryption, caches.
#include <algorithm>

#include "conf/base/text.hpp"
#include "conf/node_reader.hpp"

namespace sluice::conf {
namespace {

bool port_of(const Json& v, std::uint16_t& out) {
  if (!v.IsInt() || v.GetInt() < 1 || v.GetInt() > 65535) return false;
  out = static_cast<std::uint16_t>(v.GetInt());
  return true;
}

void add_listener(GatewayConfig& g, Listen listen) {
  const bool anywhere = listen.ip.empty();
  if (anywhere) listen.ip = "0.0.0.0";
  g.listen.push_back(listen);
  if (!anywhere || !g.ipv6) return;
  listen.ip = "::";
  listen.implied = true;
  g.listen.push_back(listen);
}

void read_listener(Reader& in, const std::string& at, const Json& item, GatewayConfig& g) {
  Listen listen;
  if (item.IsNumber()) {
    if (!port_of(item, listen.port)) return in.fail(at, "expected a port from 1 to 65535, found " + to_json(item));
    return add_listener(g, listen);
  }
  if (!item.IsObject()) return in.fail_type(at, "number", item);
  if (find(item, "enable_http2") != nullptr)
    return in.fail(at, "enable_http2 belongs to apisix.enable_http2, not to a single listener");
  listen.port = 9080;
  if (const Json* port = find(item, "port"); port != nullptr && !port_of(*port, listen.port))
    return in.fail(at + ".port", "expected a port from 1 to 65535");
  if (const Json* ip = find(item, "ip"); ip != nullptr) {
    if (!ip->IsString() || !parse_ip(text_of(*ip))) return in.fail(at + ".ip", "expected an IP address");
    listen.ip = text_of(*ip);
    if (listen.ip.front() == '[') listen.ip = listen.ip.substr(1, listen.ip.size() - 2);
  }
  add_listener(g, listen);
}

void read_listeners(Reader& in, GatewayConfig& g) {
  const Json* v = in.value("apisix.node_listen", true);
  if (v == nullptr || v->IsNull()) {
    add_listener(g, {"", 9080});
  } else if (v->IsArray()) {
    for (rapidjson::SizeType i = 0; i < v->Size(); ++i)
      read_listener(in, "apisix.node_listen." + std::to_string(i), (*v)[i], g);
  } else if (v->IsObject()) {
    in.fail("apisix.node_listen", "expected a port or a list of ports and {ip, port}");
  } else {
    read_listener(in, "apisix.node_listen", *v, g);
  }
  int pp_port = 0;
  in.integer("apisix.proxy_protocol.listen_http_port", pp_port, 1, 65535);
  if (pp_port != 0) g.listen.push_back({"0.0.0.0", static_cast<std::uint16_t>(pp_port), true});
  int pp_tls = 0;
  in.integer("apisix.proxy_protocol.listen_https_port", pp_tls, 1, 65535);
  if (pp_tls != 0) {
    g.proxy_protocol_https = Listen{"0.0.0.0", static_cast<std::uint16_t>(pp_tls), true};
    in.notice("apisix.proxy_protocol.listen_https_port: TLS listeners are not built yet; port " +
              std::to_string(pp_tls) + " is not opened");
  }
}

void read_router(Reader& in, GatewayConfig& g) {
  std::string http = "radixtree_host_uri";
  in.choice("apisix.router.http", http, {"radixtree_host_uri", "radixtree_uri", "radixtree_uri_with_parameter"});
  if (http == "radixtree_uri") g.router = RouterChoice::uri;
  if (http == "radixtree_uri_with_parameter") g.router = RouterChoice::uri_with_parameter;
  in.choice("apisix.router.ssl", g.router_ssl, {"radixtree_sni"});
  std::string mode = "http";
  in.choice("apisix.proxy_mode", mode, {"http", "stream", "http&stream"});
  g.http_proxy = mode != "stream";
  g.stream_proxy = mode != "http";
}

void read_dns(Reader& in, GatewayConfig& g) {
  in.texts("apisix.dns_resolver", g.dns_resolver);
  if (in.given("apisix.dns_resolver_valid") && !in.is_null("apisix.dns_resolver_valid")) {
    milliseconds valid{0};
    in.duration("apisix.dns_resolver_valid", valid);
    g.dns_resolver_valid_s = static_cast<int>(valid.count() / 1000);
  }
  in.number("apisix.resolver_timeout", g.resolver_timeout_s, 0.001);
  in.boolean("apisix.enable_resolv_search_opt", g.resolver_search);
}

void read_encryption(Reader& in, GatewayConfig& g) {
  in.boolean("apisix.data_encryption.enable_encrypt_fields", g.encrypt_fields);
  in.accept({"apisix.data_encryption.enable"});
  const std::string path = "apisix.data_encryption.keyring";
  const Json* keys = in.value(path, true);
  if (keys != nullptr && (keys->IsString() || keys->IsNumber()))
    in.text_or_number(path, g.keyring.emplace_back());
  else
    in.texts(path, g.keyring);
  for (const auto& key : g.keyring)
    if (key.size() != 16 && key.size() != 32)
      in.fail(path, "expected keys of 16 or 32 bytes, found one of " + std::to_string(key.size()));
}

void read_ports(Reader& in, GatewayConfig& g) {
  in.boolean("apisix.enable_control", g.control_enabled);
  in.text("apisix.control.ip", g.control.ip);
  in.integer("apisix.control.port", g.control.port, 1, 65535);
  in.text("apisix.control.router", g.control_router);
  if (const Json* status = in.value("apisix.status"); status != nullptr && !status->IsNull()) {
    Listen listen{"127.0.0.1", 7085};
    in.text("apisix.status.ip", listen.ip);
    in.integer("apisix.status.port", listen.port, 1, 65535);
    g.status = listen;
  } else {
    in.accept({"apisix.status"});
  }
}

}  // namespace

void read_apisix(Reader& in, NodeConfig& out) {
  GatewayConfig& g = out.apisix;
  in.boolean("apisix.enable_ipv6", g.ipv6);
  read_listeners(in, g);
  in.boolean("apisix.enable_dev_mode", g.dev_mode);
  in.boolean("apisix.enable_reuseport", g.reuseport);
  in.boolean("apisix.enable_http2", g.http2);
  in.boolean("apisix.enable_server_tokens", g.server_tokens);
  in.boolean("apisix.show_upstream_status_in_response_header", g.show_upstream_status);
  in.boolean("apisix.delete_uri_tail_slash", g.delete_uri_tail_slash);
  in.boolean("apisix.normalize_uri_like_servlet", g.normalize_uri_like_servlet);
  in.boolean("apisix.match_uri_encoded_slash", g.match_uri_encoded_slash);
  std::uint64_t post_args_mib = g.max_post_args_bytes >> 20;
  in.integer("apisix.max_post_args_readable_size", post_args_mib, 0, 1 << 20);
  g.max_post_args_bytes = post_args_mib << 20;
  read_router(in, g);
  read_stream_proxy(in, out);
  read_dns(in, g);
  read_ssl(in, out);
  read_ports(in, g);
  in.boolean("apisix.disable_upstream_healthcheck", g.disable_upstream_healthcheck);
  read_encryption(in, g);
  in.texts("apisix.trusted_addresses", g.trusted_text);
  if (auto set = CidrSet::parse(g.trusted_text))
    g.trusted_addresses = std::move(*set);
  else
    in.fail("apisix.trusted_addresses", set.error().reason);
  in.integer("apisix.lru.secret.ttl", g.secret_cache.ttl_s, 0, 1'000'000'000);
  in.integer("apisix.lru.secret.count", g.secret_cache.count, 1, 1'000'000);
  in.integer("apisix.lru.secret.neg_ttl", g.secret_cache.neg_ttl_s, 0, 1'000'000'000);
  in.integer("apisix.lru.secret.neg_count", g.secret_cache.neg_count, 1, 1'000'000);
  in.boolean("apisix.tracing", g.tracing);
  in.text_or_number("apisix.id", g.id);
  read_proxy_cache(in, out);
  in.accept({"apisix.worker_startup_time_threshold", "apisix.disable_sync_configuration_during_start",
             "apisix.extra_lua_path", "apisix.extra_lua_cpath", "apisix.lua_module_hook"});
  if (g.http2) in.notice("apisix.enable_http2: HTTP/2 is not built yet; connections without TLS speak HTTP/1.1");
}

}  // namespace sluice::conf
