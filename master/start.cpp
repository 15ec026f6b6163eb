#include "master/start.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "admin/process.hpp"
#include "conf/base/log.hpp"
#include "conf/base/log_file.hpp"
#include "master/admin_key.hpp"
#include "master/check.hpp"
#include "master/generation.hpp"
#include "master/pid_file.hpp"
#include "master/title.hpp"
#include "plugins/sdk/registry.hpp"
#include "worker/process/worker_main.hpp"

namespace sluice::master {

namespace {

int refuse(const Error& error) {
  std::fprintf(stderr, "sluice: %s\n", error.message().c_str());
  return 1;
}

std::string configured_key(const conf::NodeConfig& node) {
  for (const conf::AdminKeyEntry& entry : node.admin.keys)
    if (!entry.viewer()) return entry.key;
  return {};
}

// The file exists and is the children's before they need it: in another's folder they could not make or reopen it.
Result<void> hand_over_log(const std::string& path, const char* key, const Account& account) {
  const int fd = open_log_file(path);
  if (fd < 0) return Error{Errc::io, key, "cannot open " + path + ": " + std::strerror(errno), "master"};
  struct stat info {};
  const bool theirs = !account.switch_to || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid == account.uid;
  const bool given = theirs || fchown(fd, account.uid, account.gid) == 0;
  const int error = errno;
  close(fd);
  if (given) return {};
  return Error{Errc::io, key, path + ": cannot give it to " + account.name + ": " + std::strerror(error), "master"};
}

// REQUIRES: paths as the children use them.
Result<void> hand_over_logs(const conf::NodeConfig& node, const Account& account) {
  if (auto given = hand_over_log(node.nginx.error_log, "nginx_config.error_log", account); !given) return given;
  if (!node.nginx.access_log.enabled || !node.serves_traffic()) return {};
  return hand_over_log(node.nginx.access_log.path, "nginx_config.http.access_log", account);
}

Result<void> open_logs(const conf::NodeConfig& node, const Account& account) {
  if (auto given = hand_over_logs(node, account); !given) return given;
  if (!log::open(node.nginx.error_log, log::parse_level(node.nginx.error_log_level, log::Level::warn), "master"))
    return Error{Errc::io, node.nginx.error_log, std::string("cannot open the error log: ") + std::strerror(errno), "master"};
  return {};
}

// USR1. What cannot be opened anew stays open as it is.
void reopen_logs(const conf::NodeConfig& node, const Account& account) {
  if (auto given = hand_over_logs(node, account); !given) log::error("reopening: " + given.error().message());
  if (!log::reopen()) log::error(std::string("the error log cannot be reopened: ") + std::strerror(errno));
}

void tell(const conf::NodeConfig& node, const std::vector<std::string>& more) {
  for (const std::string& w : node.warnings) log::warn(w);
  for (const std::string& w : more) log::warn(w);
  for (const std::string& n : node.notices) log::notice(n);
  const sdk::EnabledPlugins enabled(node.plugins);
  if (enabled.unbuilt().empty()) return;
  std::string names;
  for (const std::string& name : enabled.unbuilt()) names += (names.empty() ? "" : ", ") + name;
  log::info("plugins in the node file that are not built: " + names);
}

std::string reachable(const conf::Listen& listen) {
  const std::string ip = listen.ip == "0.0.0.0" || listen.ip == "::" ? "127.0.0.1" : listen.ip;
  return "http://" + (ip.find(':') == std::string::npos ? ip : "[" + ip + "]") + ":" + std::to_string(listen.port);
}

void greet(const conf::NodeConfig& node, const AdminKey& key) {
  const std::string proxy = node.apisix.listen.empty() ? "" : reachable(node.apisix.listen.front());
  std::printf("sluice %s is ready: proxy %s", SLUICE_VERSION, proxy.empty() ? "off" : proxy.c_str());
  if (node.admin.enabled && !node.file_provider()) {
    const std::string admin = reachable(node.admin.listen);
    std::printf(", Admin API %s\n", admin.c_str());
    const char* shown = key.made_now ? key.key.c_str() : "$ADMIN_KEY";
    if (key.made_now)
      std::printf("\nAdmin key, made now and kept in %s:\n\n  %s\n", key.file.c_str(), key.key.c_str());
    else if (!key.file.empty())
      std::printf("The admin key is kept in %s: ADMIN_KEY=$(cat %s)\n", key.file.c_str(), key.file.c_str());
    std::printf(
        "\nA first route:\n\n"
        "  curl -i -X PUT %s/apisix/admin/routes/1 -H \"X-API-KEY: %s\" -d '\n"
        "  {\"uri\": \"/hello\", \"plugins\": {\"mocking\": {\"response_example\": \"hello from sluice\",\n"
        "   \"content_type\": \"text/plain\"}}}'\n"
        "  curl -i %s/hello\n\n",
        admin.c_str(), shown, proxy.c_str());
  } else {
    std::printf("\n");
  }
  std::fflush(stdout);
}

// Everything of one running gateway that outlives generations.
struct Gateway {
  Options options;
  Paths paths;
  Account account;
  AdminKey key;
  Listeners listeners;
  std::unique_ptr<shm::Catalog> catalog;
  std::vector<shm::DictSize> sizes;   // of the dictionaries, as they are
  PidFile pid_file;
};

// Entries stay: growing gives room in place, shrinking evicts by and by. What cannot change keeps its size.
void resize_dictionaries(Gateway& gateway, const conf::NodeConfig& node) {
  std::vector<std::string> told_at_the_reload;
  for (const shm::DictSize& wanted : wanted_dictionaries(node, told_at_the_reload)) {
    auto current = std::find_if(gateway.sizes.begin(), gateway.sizes.end(),
                                [&](const shm::DictSize& s) { return s.name == wanted.name; });
    if (current == gateway.sizes.end() || current->bytes == wanted.bytes) continue;
    const std::string change = "dictionary " + wanted.name + ": from " + std::to_string(current->bytes) + " to " +
                               std::to_string(wanted.bytes) + " octets";
    if (auto resized = gateway.catalog->resize(wanted.name, wanted.bytes); !resized) {
      log::warn(change + " is not possible without a restart: " + resized.error().message());
      continue;
    }
    current->bytes = wanted.bytes;
    log::notice(change);
  }
}

// The admin process follows the file with the rights of its account.
Result<void> check_file_access(const Gateway& gateway, const conf::NodeConfig& node) {
  if (!node.file_provider()) return {};
  auto readable = readable_for(gateway.account, resource_file(node, gateway.paths.child_config));
  if (readable) return {};
  Error e = readable.error();
  e.path = resource_file(node, gateway.paths.config_dir);
  return e;
}

Result<Generation> next_generation(Gateway& gateway) {
  Result<conf::NodeConfig> node = load_checked(gateway.paths.config_file);
  if (!node) return node.error();
  Result<AdminKey> key = effective_admin_key(std::getenv("ADMIN_KEY"), configured_key(*node), gateway.paths.data);
  if (!key) return key.error();
  std::vector<std::string> warnings;
  wanted_dictionaries(*node, warnings);
  // Logs and listeners last: they change something outside this function. Sizes follow when the new workers serve.
  const std::vector<ListenWish> wishes = wanted_listeners(*node);
  tell(*node, warnings);
  place_paths(*node, gateway.paths);
  Result<Generation> generation = make_generation(std::move(*node), key->key);
  if (!generation) return generation;
  if (auto readable = check_file_access(gateway, *generation->node); !readable) return readable.error();
  if (auto given = hand_over_logs(*generation->node, gateway.account); !given) return given.error();
  if (auto opened = gateway.listeners.replace(wishes); !opened) return opened.error();
  return generation;
}

int worker_body(Gateway& gateway, const Generation& generation, int index, std::uint32_t slot) {
  ::unsetenv("ADMIN_KEY");   // not a worker's business
  worker::WorkerStart start;
  start.index = index;
  start.slot = slot;
  start.generation = generation.number;
  start.node = generation.node.get();
  start.catalog = gateway.catalog.get();
  start.proxy_listeners = gateway.listeners.with_role(ListenSocket::Role::proxy);
  start.bus_address = *gateway.listeners.open_bus();
  start.master_pid = getppid();
  return worker::run_worker(start);
}

int admin_body(Gateway& gateway, const Generation& generation, std::uint32_t slot) {
  admin::AdminStart start;
  start.slot = slot;
  start.generation = generation.number;
  start.node = generation.node.get();
  start.catalog = gateway.catalog.get();
  for (const ListenSocket& s : gateway.listeners.all())
    if (s.role != ListenSocket::Role::proxy) start.listeners.push_back(s);
  start.bus_fd = gateway.listeners.bus()->fd;
  start.bus_address = *gateway.listeners.open_bus();
  start.master_pid = getppid();
  start.workers = generation.workers;
  start.admin_key = generation.admin_key;
  start.admin_key_from_environment = std::getenv("ADMIN_KEY") != nullptr;
  start.config_dir = gateway.paths.child_config;
  start.config_file = gateway.paths.config_file;
  return admin::run_admin(start);
}

Result<Generation> first_generation(Gateway& gateway) {
  Result<Paths> paths = choose_paths(gateway.options.prefix, gateway.options.config_file);
  if (!paths) return paths.error();
  gateway.paths = std::move(*paths);
  Result<conf::NodeConfig> node = load_checked(gateway.paths.config_file);
  if (!node) return node.error();
  Result<Account> account = choose_account(node->sluice.user, node->sluice.group);
  if (!account) return account.error();
  gateway.account = *account;
  if (auto made = prepare_paths(gateway.paths, node->sluice.data_dir, node->sluice.run_dir, gateway.account); !made)
    return made.error();
  if (auto held = gateway.pid_file.acquire(gateway.paths.pid_file()); !held) return held.error();
  place_paths(*node, gateway.paths);
  if (auto opened = open_logs(*node, gateway.account); !opened) return opened.error();
  if (auto readable = check_file_access(gateway, *node); !readable) return readable.error();
  Result<AdminKey> key = effective_admin_key(std::getenv("ADMIN_KEY"), configured_key(*node), gateway.paths.data);
  if (!key) return key.error();
  gateway.key = *key;
  std::string limit_warning;
  raise_open_files(node->nginx.worker_rlimit_nofile, limit_warning);
  std::vector<std::string> warnings;
  if (!limit_warning.empty()) warnings.push_back(limit_warning);
  if (gateway.account.switch_to && gateway.account.name == "nobody" && node->sluice.user.empty())
    warnings.push_back("sluice.user: there is no account sluice, so workers and store belong to nobody, which other "
                       "services may share; make one (adduser --system --group sluice) or name another");
  gateway.sizes = wanted_dictionaries(*node, warnings);
  auto catalog = shm::Catalog::create(gateway.sizes, shm::Catalog::kMaxWorkers);
  if (!catalog) return catalog.error();
  gateway.catalog = std::move(*catalog);
  for (const std::string& w : node->warnings) std::fprintf(stderr, "sluice: warning: %s\n", w.c_str());
  for (const std::string& w : warnings) std::fprintf(stderr, "sluice: warning: %s\n", w.c_str());
  tell(*node, warnings);
  if (auto opened = gateway.listeners.replace(wanted_listeners(*node)); !opened) return opened.error();
  if (auto bus = gateway.listeners.open_bus(); !bus) return bus.error();
  Result<Generation> generation = make_generation(std::move(*node), gateway.key.key);
  if (generation) generation->number = 1;
  return generation;
}

}  // namespace

int run_gateway(const Options& options) {
  Gateway gateway;
  gateway.options = options;
  Result<Generation> first = first_generation(gateway);
  if (!first) return refuse(first.error());
  set_title("sluice: master");
  signal(SIGPIPE, SIG_IGN);
  log::notice("sluice " SLUICE_VERSION " starts with " + std::to_string(first->workers) + " workers");
  std::shared_ptr<const conf::NodeConfig> node = first->node;
  Supervisor::Hooks hooks;
  hooks.reload = [&gateway] { return next_generation(gateway); };
  hooks.worker_body = [&gateway](const Generation& g, int index, std::uint32_t slot) {
    return worker_body(gateway, g, index, slot);
  };
  hooks.admin_body = [&gateway](const Generation& g, std::uint32_t slot) { return admin_body(gateway, g, slot); };
  hooks.on_taken_over = [&gateway](const Generation& g) { resize_dictionaries(gateway, *g.node); };
  hooks.reopen_logs = [&gateway](const conf::NodeConfig& n) { reopen_logs(n, gateway.account); };
  hooks.on_ready = [&gateway, node] { greet(*node, gateway.key); };
  Supervisor supervisor(std::move(*first), gateway.paths, gateway.account, gateway.listeners, *gateway.catalog,
                        std::move(hooks));
  const int code = supervisor.run();
  gateway.pid_file.remove();
  return code;
}

int check_config(const Options& options) {
  Result<Paths> paths = choose_paths(options.prefix, options.config_file);
  if (!paths) return refuse(paths.error());
  Result<conf::NodeConfig> node = load_checked(paths->config_file);
  if (!node) return refuse(node.error());
  std::vector<std::string> warnings = node->warnings;
  wanted_dictionaries(*node, warnings);
  for (const std::string& w : warnings) std::fprintf(stderr, "sluice: warning: %s\n", w.c_str());
  if (auto checked = check_resource_file(*node, paths->config_dir); !checked) return refuse(checked.error());
  const std::string name = paths->config_file.empty() ? "the built-in configuration" : paths->config_file;
  std::fprintf(stderr, "sluice: %s is valid\n", name.c_str());
  return 0;
}

int send_signal(const Options& options) {
  if (options.signal_name == "upgrade")
    return refuse(Error{Errc::unavailable, "-s upgrade", "replacing the running binary is not available in this build; "
                        "expected stop, quit, reload or reopen", {}});
  Result<Paths> paths = choose_paths(options.prefix, options.config_file);
  if (!paths) return refuse(paths.error());
  if (Result<conf::NodeConfig> node = conf::load_node_config(paths->config_file, conf::process_environment());
      node && !node->sluice.run_dir.empty())
    paths->run = node->sluice.run_dir[0] == '/' ? node->sluice.run_dir : paths->prefix + "/" + node->sluice.run_dir;
  Result<pid_t> pid = running_master(paths->pid_file());
  if (!pid) return refuse(pid.error());
  const std::string& name = options.signal_name;
  const int number = name == "stop" ? SIGTERM : name == "quit" ? SIGQUIT : name == "reload" ? SIGHUP
                     : SIGUSR1;
  if (kill(*pid, number) != 0)
    return refuse(Error{Errc::io, paths->pid_file(), std::string("cannot signal the master: ") + std::strerror(errno), {}});
  return 0;
}

}  // namespace sluice::master
