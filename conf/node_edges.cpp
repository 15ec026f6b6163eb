// Parts of section `apisix` whose features come later, read and checked all the same: TLS listeners, stream listeners,
// zones of the proxy cache.
#include <algorithm>

#include "conf/base/text.hpp"
#include "conf/node_reader.hpp"

namespace sluice::conf {
namespace {

bool port_of(std::string_view text, std::uint16_t& out) {
  const auto port = text::to_int<std::uint16_t>(text);
  if (!port || *port == 0) return false;
  out = *port;
  return true;
}

// "9100", "127.0.0.1:9100", "2000-2100", "[::]:2000-2100"
bool parse_stream_address(std::string_view text, StreamListen& out) {
  out.ip = "0.0.0.0";
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    std::string_view ip = text.substr(0, colon);
    if (!parse_ip(ip)) return false;
    if (ip.front() == '[') ip = ip.substr(1, ip.size() - 2);
    out.ip = std::string(ip);
    text.remove_prefix(colon + 1);
  }
  const auto dash = text.find('-');
  if (!port_of(text.substr(0, dash), out.first)) return false;
  out.last = out.first;
  if (dash != std::string_view::npos && !port_of(text.substr(dash + 1), out.last)) return false;
  return out.last >= out.first;
}

void read_stream_list(Reader& in, const std::string& path, bool udp, GatewayConfig& g) {
  const Json* list = in.value(path, true);
  if (list == nullptr || list->IsNull()) return;
  if (!list->IsArray()) return in.fail_type(path, "table", *list);
  bool tcp_pp = false, tcp_pp_upstream = false;
  in.boolean("apisix.proxy_protocol.enable_tcp_pp", tcp_pp);
  in.boolean("apisix.proxy_protocol.enable_tcp_pp_to_upstream", tcp_pp_upstream);
  for (rapidjson::SizeType i = 0; i < list->Size(); ++i) {
    const std::string at = path + "." + std::to_string(i);
    const Json& item = (*list)[i];
    StreamListen listen;
    listen.udp = udp;
    listen.proxy_protocol = !udp && tcp_pp;
    listen.proxy_protocol_to_upstream = !udp && tcp_pp_upstream;
    const Json* addr = item.IsObject() ? find(item, "addr") : &item;
    if (addr == nullptr || !(addr->IsString() || addr->IsNumber()))
      return in.fail(at, "expected a port, ip:port or a range, alone or as `addr`");
    if (!parse_stream_address(addr->IsString() ? std::string(text_of(*addr)) : to_json(*addr), listen))
      return in.fail(at, "expected a port, ip:port or a range such as 2000-2100, found " + to_json(*addr));
    if (item.IsObject()) {
      const auto flag = [&](const char* name, bool& out) {
        if (const Json* v = find(item, name); v != nullptr && v->IsBool()) out = v->GetBool();
      };
      flag("tls", listen.tls);
      flag("proxy_protocol", listen.proxy_protocol);
      flag("proxy_protocol_to_upstream", listen.proxy_protocol_to_upstream);
    }
    g.stream_listen.push_back(listen);
  }
}

}  // namespace

void read_stream_proxy(Reader& in, NodeConfig& out) {
  GatewayConfig& g = out.apisix;
  read_stream_list(in, "apisix.stream_proxy.tcp", false, g);
  read_stream_list(in, "apisix.stream_proxy.udp", true, g);
  in.accept({"apisix.stream_proxy.only", "apisix.proxy_protocol.enable_tcp_pp",
             "apisix.proxy_protocol.enable_tcp_pp_to_upstream"});
  if (g.stream_proxy || !g.stream_listen.empty())
    in.notice(
        "apisix.proxy_mode: proxying of TCP and UDP streams is not built yet; stream routes are stored, their "
        "listeners are not opened");
}

void read_ssl(Reader& in, NodeConfig& out) {
  SslConfig& ssl = out.apisix.ssl;
  in.boolean("apisix.ssl.enable", ssl.enable);
  ssl.ciphers = default_ciphers();
  const Json* listen = in.value("apisix.ssl.listen", true);
  if (listen == nullptr) {
    ssl.listen.push_back({"0.0.0.0", 9443});
  } else if (listen->IsArray()) {
    for (rapidjson::SizeType i = 0; i < listen->Size(); ++i) {
      const Json& item = (*listen)[i];
      const Json* port = item.IsObject() ? find(item, "port") : &item;
      const Json* ip = find(item, "ip");
      Listen l{"0.0.0.0", 9443};
      const std::string at = "apisix.ssl.listen." + std::to_string(i);
      if (port != nullptr && (!port->IsInt() || port->GetInt() < 1 || port->GetInt() > 65535))
        return in.fail(at, "expected a port from 1 to 65535");
      if (port != nullptr) l.port = static_cast<std::uint16_t>(port->GetInt());
      if (ip != nullptr && !parse_ip(text_of(*ip))) return in.fail(at + ".ip", "expected an IP address");
      if (ip != nullptr) l.ip = text_of(*ip);
      ssl.listen.push_back(l);
    }
  } else if (!listen->IsNull()) {
    in.fail_type("apisix.ssl.listen", "table", *listen);
  }
  in.text("apisix.ssl.ssl_trusted_certificate", ssl.trusted_certificate);
  in.text("apisix.ssl.ssl_protocols", ssl.protocols);
  in.text("apisix.ssl.ssl_ciphers", ssl.ciphers);
  in.boolean("apisix.ssl.ssl_session_tickets", ssl.session_tickets);
  in.text("apisix.ssl.fallback_sni", ssl.fallback_sni);
  if (ssl.enable && !ssl.listen.empty()) {
    std::string ports;
    for (const auto& l : ssl.listen) ports += (ports.empty() ? "" : ", ") + std::to_string(l.port);
    in.notice("apisix.ssl: TLS listeners are not built yet; port " + ports +
              " is not opened (certificates are stored)");
  }
}

void read_proxy_cache(Reader& in, NodeConfig& out) {
  GatewayConfig& g = out.apisix;
  in.duration("apisix.proxy_cache.cache_ttl", g.cache_ttl);
  const std::string path = "apisix.proxy_cache.zones";
  const Json* zones = in.value(path, true);
  if (zones == nullptr) {
    g.cache_zones = {{"disk_cache_one", 50u << 20, 1u << 30, "/tmp/disk_cache_one", "1:2"},
                     {"memory_cache", 50u << 20, 0, "", ""}};
    return;
  }
  if (zones->IsNull()) return;
  if (!zones->IsArray()) return in.fail_type(path, "table", *zones);
  for (rapidjson::SizeType i = 0; i < zones->Size(); ++i) {
    const Json& item = (*zones)[i];
    const std::string at = path + "." + std::to_string(i);
    CacheZone zone;
    const auto text_member = [&](const char* name) {
      const Json* v = find(item, name);
      return v == nullptr ? std::string() : v->IsNumber() ? to_json(*v) : std::string(text_of(*v));
    };
    zone.name = text_member("name");
    if (zone.name.empty()) return in.fail(at, "expected a zone with a name");
    const auto memory = parse_size(text_member("memory_size"));
    if (!memory) return in.fail(at + ".memory_size", memory.error().reason);
    zone.memory_size = *memory;
    zone.disk_path = text_member("disk_path");
    zone.cache_levels = text_member("cache_levels");
    if (const std::string disk = text_member("disk_size"); !disk.empty()) {
      const auto bytes = parse_size(disk);
      if (!bytes) return in.fail(at + ".disk_size", bytes.error().reason);
      zone.disk_size = *bytes;
    }
    g.cache_zones.push_back(std::move(zone));
  }
}

}  // namespace sluice::conf
