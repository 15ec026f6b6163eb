#include "admin/node_options.hpp"

namespace sluice::admin {

ApiOptions api_options(const AdminStart& start) {
  const conf::AdminConfig& admin = start.node->admin;
  ApiOptions out;
  out.key_required = admin.key_required;
  out.cors = admin.cors;
  out.stream_mode = start.node->apisix.stream_proxy;
  out.encrypt_fields = start.node->apisix.encrypt_fields;
  out.prefix = start.node->etcd.prefix;
  if (!admin.allow_all) out.allow = admin.allow;
  if (!admin.keys_configured) return out;
  bool from_environment = start.admin_key_from_environment;
  std::vector<AdminKey> keys;
  for (const conf::AdminKeyEntry& entry : admin.keys) {
    AdminKey key{entry.name, entry.key, entry.role};
    if (!entry.viewer() && (from_environment || key.key.empty())) {
      key.key = start.admin_key;
      from_environment = false;
    }
    keys.push_back(std::move(key));
  }
  if (from_environment || (keys.empty() && !start.admin_key.empty()))
    keys.push_back({"admin", start.admin_key, "admin"});
  out.keys = std::move(keys);
  return out;
}

Result<Keyring> keyring_of(const AdminStart& start) {
  const auto& configured = start.node->apisix.keyring;
  if (!configured.empty()) return Keyring::make(configured);
  return Keyring::load_or_create(start.node->sluice.data_dir + "/keyring");
}

std::string unsupported(const conf::NodeConfig& node) {
  if (node.file_provider()) return {};
  if (node.provider == conf::Provider::etcd)
    return "config_provider etcd is not available in this build; use embedded "
           "(deployment.role_traditional.config_provider)";
  if (node.provider != conf::Provider::embedded)
    return "this role cannot use the configured config_provider in this build; use embedded, or role data_plane with "
           "yaml or json";
  if (node.admin.enabled && node.admin.https) return "deployment.admin.https_admin is not available in this build";
  return {};
}

std::string shared_dict_key(const conf::NodeConfig& node, std::string_view name) {
  const std::string key(name);
  const bool theirs = node.nginx.shared_dict.contains(key) && !node.sluice.shared_dict.contains(key);
  return (theirs ? "nginx_config.http.lua_shared_dict." : "sluice.shared_dict.") + key;
}

std::string server_header(const conf::NodeConfig& node) {
  return node.apisix.server_tokens ? std::string("sluice/") + SLUICE_VERSION : std::string("sluice");
}

}  // namespace sluice::admin
