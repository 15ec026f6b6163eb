// Section `deployment`: the role, where the configuration comes from, the Admin API, etcd.
#include <algorithm>

#include "conf/base/text.hpp"
#include "conf/node_reader.hpp"

namespace sluice::conf {
namespace {

Provider provider_of(const std::string& name) {
  if (name == "etcd") return Provider::etcd;
  if (name == "yaml") return Provider::yaml;
  if (name == "json") return Provider::json;
  if (name == "xds") return Provider::xds;
  return Provider::embedded;
}

void refuse(Reader& in, const std::string& path, const std::string& role, const std::string& why) {
  in.fail_plain("invalid deployment " + role + " configuration: " + path + ": " + why + " (" + in.place(path) + ")");
}

void read_role(Reader& in, NodeConfig& out) {
  std::string role = "traditional";
  in.choice("deployment.role", role, {"traditional", "control_plane", "data_plane"});
  std::string traditional = "embedded", control = "embedded", data = "";
  in.choice("deployment.role_traditional.config_provider", traditional, {"embedded", "etcd", "yaml"});
  in.choice("deployment.role_control_plane.config_provider", control, {"embedded", "etcd"});
  in.choice("deployment.role_data_plane.config_provider", data, {"etcd", "yaml", "json", "xds"});
  in.accept({"deployment.role_data_plane.control_plane", "deployment.role_control_plane.conf_server",
             "deployment.role_control_plane.cert", "deployment.role_control_plane.cert_key"});
  const std::string path = "deployment.role_" + role + ".config_provider";
  std::string chosen = traditional;
  out.role = Role::traditional;
  if (role == "control_plane") {
    out.role = Role::control_plane;
    chosen = control;
  } else if (role == "data_plane") {
    out.role = Role::data_plane;
    chosen = data;
    if (chosen.empty()) return refuse(in, path, role, "expected \"yaml\" or \"json\", found nothing");
  }
  out.provider = provider_of(chosen);
  if (out.provider == Provider::etcd)
    return refuse(in, path, role,
                  "\"etcd\" is not available in this version; use \"embedded\" (role traditional), or \"yaml\" or "
                  "\"json\" (role data_plane)");
  if (out.provider == Provider::xds) return refuse(in, path, role, "\"xds\" is not available");
  if (out.role == Role::traditional && out.provider == Provider::yaml)
    refuse(in, path, role,
           "\"yaml\", the standalone mode driven by the Admin API, is not available in this version; use \"embedded\", "
           "or role data_plane for a resource file");
}

void read_keys(Reader& in, AdminConfig& admin) {
  admin.keys = {{"admin", "", "admin"}};
  const Json* keys = in.value("deployment.admin.admin_key", true);
  if (keys == nullptr) return;
  admin.keys.clear();
  admin.keys_configured = !keys->IsNull();
  if (keys->IsNull()) return;
  if (!keys->IsArray()) return in.fail_type("deployment.admin.admin_key", "table", *keys);
  for (rapidjson::SizeType i = 0; i < keys->Size(); ++i) {
    const Json& item = (*keys)[i];
    const std::string at = "deployment.admin.admin_key." + std::to_string(i);
    if (!item.IsObject()) return in.fail_type(at, "table", item);
    AdminKeyEntry entry{"", "", "admin"};
    for (const auto& m : item.GetObject()) {
      const std::string_view name = text_of(m.name);
      std::string* field = name == "name"   ? &entry.name
                           : name == "key"  ? &entry.key
                           : name == "role" ? &entry.role
                                            : nullptr;
      if (field == nullptr) {
        in.warn("unknown key " + at + "." + std::string(name) + " (" + in.place(at) + ") is ignored");
      } else if (m.value.IsString()) {
        *field = text_of(m.value);
      } else if (m.value.IsNumber()) {
        *field = to_json(m.value);  // a key such as 123456 without quotes
      } else if (!m.value.IsNull()) {
        return in.fail_type(at + "." + std::string(name), "string", m.value);
      }
    }
    admin.keys.push_back(std::move(entry));
  }
}

void read_allow(Reader& in, AdminConfig& admin) {
  admin.allow_text = {"127.0.0.0/24"};
  admin.allow_all = in.is_null("deployment.admin.allow_admin");
  in.texts("deployment.admin.allow_admin", admin.allow_text);
  auto set = CidrSet::parse(admin.allow_text);
  if (!set) return in.fail("deployment.admin.allow_admin", set.error().reason);
  admin.allow = std::move(*set);
}

void read_admin(Reader& in, NodeConfig& out, const Environment& env) {
  AdminConfig& admin = out.admin;
  in.boolean("apisix.enable_admin", admin.enabled);
  if (out.role == Role::data_plane) admin.enabled = false;
  if (out.role == Role::control_plane) admin.enabled = true;
  in.boolean("deployment.admin.admin_key_required", admin.key_required);
  read_keys(in, admin);
  read_allow(in, admin);
  in.text("deployment.admin.admin_listen.ip", admin.listen.ip);
  in.integer("deployment.admin.admin_listen.port", admin.listen.port, 1, 65535);
  if (!parse_ip(admin.listen.ip))
    in.fail("deployment.admin.admin_listen.ip", "expected an IP address, found \"" + admin.listen.ip + "\"");
  in.boolean("deployment.admin.https_admin", admin.https);
  in.text("deployment.admin.admin_api_mtls.admin_ssl_cert", admin.ssl_cert);
  in.text("deployment.admin.admin_api_mtls.admin_ssl_cert_key", admin.ssl_key);
  in.text("deployment.admin.admin_api_mtls.admin_ssl_ca_cert", admin.ssl_ca);
  in.boolean("deployment.admin.enable_admin_cors", admin.cors);
  in.boolean("deployment.admin.enable_admin_ui", admin.ui);
  in.text("deployment.admin.admin_api_version", admin.api_version);
  if (!admin.enabled) return;
  if (admin.api_version != "v3")
    in.warn("deployment.admin.admin_api_version: only v3 is served, found \"" + admin.api_version + "\"");
  if (admin.https && (admin.ssl_cert.empty() || admin.ssl_key.empty()))
    in.fail_plain("missing ssl cert for https admin");
  if (admin.https) in.fail("deployment.admin.https_admin", "an Admin API over HTTPS is not available in this version");
  const bool local_only = !admin.allow_all && admin.allow_text == std::vector<std::string>{"127.0.0.0/24"};
  const auto from_environment = env("ADMIN_KEY");
  if (!local_only && admin.key_required && admin.keys.empty() && (!from_environment || from_environment->empty()))
    in.fail_plain("ERROR: missing valid Admin API token. Set deployment.admin.admin_key or ADMIN_KEY (" +
                  in.place("deployment.admin.admin_key") + ")");
}

void read_etcd(Reader& in, EtcdConfig& etcd, const Environment& env) {
  etcd.host = {"http://127.0.0.1:2379"};
  const Json* host = in.value("deployment.etcd.host");
  if (host != nullptr && host->IsString())
    etcd.host = {std::string(text_of(*host))};
  else
    in.texts("deployment.etcd.host", etcd.host);
  if (const auto hosts = env("APISIX_DEPLOYMENT_ETCD_HOST")) {
    auto list = parse_json(*hosts);
    if (!list || !list->IsArray())
      return in.fail_plain("failed to validate config: APISIX_DEPLOYMENT_ETCD_HOST: expected a JSON array of URLs");
    etcd.host.clear();
    for (const auto& h : list->GetArray()) etcd.host.emplace_back(text_of(h));
  }
  in.text("deployment.etcd.prefix", etcd.prefix);
  if (etcd.prefix.size() > 1 && etcd.prefix.back() == '/') etcd.prefix.pop_back();
  in.number("deployment.etcd.timeout", etcd.timeout_s, 1);
  in.number("deployment.etcd.watch_timeout", etcd.watch_timeout_s, 1);
  in.integer("deployment.etcd.startup_retry", etcd.startup_retry, 0, 1000);
  in.number("deployment.etcd.resync_delay", etcd.resync_delay_s, 0);
  in.number("deployment.etcd.health_check_timeout", etcd.health_check_timeout_s, 0);
  in.text("deployment.etcd.user", etcd.user);
  in.text("deployment.etcd.password", etcd.password);
  in.text("deployment.etcd.tls.cert", etcd.tls_cert);
  in.text("deployment.etcd.tls.key", etcd.tls_key);
  in.text("deployment.etcd.tls.sni", etcd.tls_sni);
  in.boolean("deployment.etcd.tls.verify", etcd.tls_verify);
  in.accept({"deployment.etcd.use_grpc", "deployment.certs"});
}

}  // namespace

void read_deployment(Reader& in, NodeConfig& out, const Environment& env) {
  read_role(in, out);
  read_admin(in, out, env);
  read_etcd(in, out.etcd, env);
}

// ---- ports

void check_ports(Reader& in, const NodeConfig& out) {
  std::vector<std::pair<std::uint16_t, std::string>> taken;
  const auto take = [&](const std::string& what, const Listen& listen) {
    if (listen.implied) return;
    for (const auto& [port, other] : taken)
      if (port == listen.port) return in.fail_plain(what + " " + std::to_string(port) + " conflicts with " + other);
    taken.emplace_back(listen.port, what);
  };
  if (out.admin.enabled) take("admin port", out.admin.listen);
  if (out.apisix.control_enabled) take("control port", out.apisix.control);
  if (out.apisix.status) take("status port", *out.apisix.status);
  const bool prometheus = std::find(out.plugins.begin(), out.plugins.end(), "prometheus") != out.plugins.end();
  if (prometheus && out.prometheus.enable_export_server) take("prometheus port", out.prometheus.export_addr);
  if (!out.serves_traffic() || !out.apisix.http_proxy) return;
  std::vector<Listen> seen;
  for (const auto& l : out.apisix.listen) {
    if (l.implied) continue;
    // The same port on other addresses is fine among proxy listeners.
    bool clash = true;
    for (const auto& s : seen) clash = clash && !(s.port == l.port && s.ip != l.ip);
    if (clash) take("http listen port", l);
    seen.push_back(l);
  }
}

}  // namespace sluice::conf
