#include "master/paths.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace sluice::master {

namespace fs = std::filesystem;

namespace {

Error failed(const std::string& path, const std::string& what) {
  return Error{Errc::io, path, what + ": " + std::strerror(errno), "master", false};
}

Result<std::string> prepare(const std::string& path, mode_t mode, const Account& account, bool shared) {
  std::error_code code;
  fs::create_directories(fs::path(path).parent_path(), code);
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return failed(path, "cannot make the folder");
  if (shared && account.switch_to && chown(path.c_str(), account.uid, account.gid) != 0)
    return failed(path, "cannot give the folder to " + account.name);
  if (!account.switch_to) return path;
  // Inherited by every child on purpose: it is how they reach the folder.
  const int fd = open(path.c_str(), O_PATH | O_DIRECTORY);
  if (fd < 0) return failed(path, "cannot open the folder");
  return "/proc/self/fd/" + std::to_string(fd);
}

}  // namespace

std::string Paths::for_child(const std::string& path) const {
  if (path.empty() || path[0] == '/') return path;
  if (path.rfind("logs/", 0) == 0) return child_logs + path.substr(4);
  return prefix + "/" + path;
}

Result<Paths> choose_paths(const std::string& prefix, const std::string& config_file) {
  Paths paths;
  std::error_code code;
  const std::string chosen = !prefix.empty() ? prefix : geteuid() == 0 ? "/var/lib/sluice" : "./run";
  paths.prefix = fs::absolute(chosen, code).lexically_normal().string();
  if (paths.prefix.size() > 1 && paths.prefix.back() == '/') paths.prefix.pop_back();
  if (!config_file.empty()) {
    paths.config_file = fs::absolute(config_file, code).lexically_normal().string();
    if (access(paths.config_file.c_str(), R_OK) != 0) return failed(paths.config_file, "cannot read the node file");
  } else if (access((paths.prefix + "/conf/config.yaml").c_str(), R_OK) == 0) {
    paths.config_file = paths.prefix + "/conf/config.yaml";
  }
  paths.config_dir = paths.config_file.empty() ? paths.prefix + "/conf" : fs::path(paths.config_file).parent_path().string();
  paths.logs = paths.prefix + "/logs";
  paths.run = paths.prefix + "/run";
  paths.data = paths.prefix + "/data";
  return paths;
}

Result<void> prepare_paths(Paths& paths, const std::string& data_dir, const std::string& run_dir,
                           const Account& account) {
  if (!data_dir.empty()) paths.data = data_dir[0] == '/' ? data_dir : paths.prefix + "/" + data_dir;
  if (!run_dir.empty()) paths.run = run_dir[0] == '/' ? run_dir : paths.prefix + "/" + run_dir;
  auto logs = prepare(paths.logs, 0755, account, true);
  if (!logs) return logs.error();
  auto run = prepare(paths.run, 0755, account, false);
  if (!run) return run.error();
  auto data = prepare(paths.data, 0700, account, true);
  if (!data) return data.error();
  paths.child_logs = *logs;
  paths.child_run = *run;
  paths.child_data = *data;
  paths.child_config = paths.config_dir;
  if (account.switch_to) {
    const int fd = open(paths.config_dir.c_str(), O_PATH | O_DIRECTORY);
    if (fd >= 0) paths.child_config = "/proc/self/fd/" + std::to_string(fd);
  }
  return {};
}

}  // namespace sluice::master
