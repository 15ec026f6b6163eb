#include "master/generation.hpp"

#include <algorithm>

#include "master/affinity.hpp"

namespace sluice::master {

Result<conf::NodeConfig> load_checked(const std::string& config_file) {
  Result<conf::NodeConfig> node = conf::load_node_config(config_file, conf::process_environment());
  if (!node) return node;
  if (node->provider == conf::Provider::etcd || node->provider == conf::Provider::xds)
    return invalid("expected embedded, or yaml or json with role data_plane: this build has no etcd and no xds provider",
                   node->file + ": deployment config_provider");
  if (node->provider == conf::Provider::yaml && !node->file_provider())
    return invalid("the API-driven standalone mode is not available in this build; a resource file needs role data_plane",
                   node->file + ": deployment.role_traditional.config_provider");
  if (node->admin.enabled && node->admin.https)
    return invalid("an Admin API over TLS is not available in this build", node->file + ": deployment.admin.https_admin");
  return node;
}

void place_paths(conf::NodeConfig& node, const Paths& paths) {
  node.nginx.access_log.path = paths.for_child(node.nginx.access_log.path);
  node.nginx.error_log = paths.for_child(node.nginx.error_log);
  node.sluice.data_dir = paths.child_data;
  node.sluice.run_dir = paths.child_run;
  node.sluice.temp_dir = node.sluice.temp_dir.empty() ? paths.child_data : paths.for_child(node.sluice.temp_dir);
}

std::vector<ListenWish> wanted_listeners(const conf::NodeConfig& node) {
  std::vector<ListenWish> wishes;
  const auto add = [&](ListenSocket::Role role, const conf::Listen& l) {
    wishes.push_back({role, l.ip, l.port, l.proxy_protocol});
  };
  if (node.serves_traffic())
    for (const conf::Listen& l : node.apisix.listen) add(ListenSocket::Role::proxy, l);
  if (node.admin.enabled && !node.file_provider()) add(ListenSocket::Role::admin, node.admin.listen);
  if (node.apisix.control_enabled) add(ListenSocket::Role::control, node.apisix.control);
  if (node.apisix.status) add(ListenSocket::Role::status, *node.apisix.status);
  const bool metrics = std::find(node.plugins.begin(), node.plugins.end(), "prometheus") != node.plugins.end();
  if (metrics && node.prometheus.enable_export_server) add(ListenSocket::Role::metrics, node.prometheus.export_addr);
  return wishes;
}

std::vector<shm::DictSize> wanted_dictionaries(const conf::NodeConfig& node, std::vector<std::string>& warnings) {
  std::vector<shm::DictSize> sizes = shm::Catalog::defaults();
  const auto set = [&](const std::string& name, std::uint64_t bytes, const char* section, bool ours) {
    auto found = std::find_if(sizes.begin(), sizes.end(), [&](const shm::DictSize& s) { return s.name == name; });
    if (found != sizes.end())
      found->bytes = std::max<std::uint64_t>(bytes, 64 * 1024);
    else if (ours)
      warnings.push_back(std::string(section) + "." + name + ": no dictionary has that name; the entry has no effect");
  };
  for (const auto& [name, bytes] : node.nginx.shared_dict) set(name, bytes, "nginx_config.http.lua_shared_dict", false);
  for (const auto& [name, bytes] : node.sluice.shared_dict) set(name, bytes, "sluice.shared_dict", true);
  return sizes;
}

Result<Generation> make_generation(conf::NodeConfig node, std::string admin_key) {
  Generation generation;
  const std::vector<int> allowed = allowed_cpus();
  generation.workers = node.worker_processes().value_or(
      automatic_worker_count(static_cast<int>(allowed.size()), cgroup_cpu_quota()));
  if (!node.serves_traffic()) generation.workers = 0;
  switch (node.sluice.affinity) {
    case conf::OwnConfig::Affinity::off:
      break;
    case conf::OwnConfig::Affinity::automatic:
      // More workers than CPUs would fight over one while another idles: they are pinned only where that is asked for.
      if (generation.workers <= static_cast<int>(allowed.size()) || node.sluice.affinity_asked)
        generation.cpus = spread_over(allowed, generation.workers);
      break;
    case conf::OwnConfig::Affinity::list:
      for (int cpu : node.sluice.affinity_cpus)
        if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end())
          return invalid("expected CPUs of the affinity mask, found " + std::to_string(cpu), "sluice.cpu_affinity");
      if (!node.sluice.affinity_cpus.empty()) generation.cpus = spread_over(node.sluice.affinity_cpus, generation.workers);
      break;
  }
  generation.admin_key = std::move(admin_key);
  generation.node = std::make_shared<const conf::NodeConfig>(std::move(node));
  return generation;
}

}  // namespace sluice::master
