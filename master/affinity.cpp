#include "master/affinity.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace sluice::master {

namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!in || !std::getline(in, line)) return std::nullopt;
  return line;
}

// Path of this process below a cgroup hierarchy: "0::/a/b" (v2) or "N:…cpu…:/a/b" (v1).
std::string own_group(const std::string& root, bool version_2) {
  std::ifstream in(root + "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (version_2 ? controllers == ",," : controllers.find(",cpu,") != std::string::npos) return line.substr(second + 1);
  }
  return "/";
}

void narrow(std::optional<double>& quota, double found) {
  if (found > 0 && (!quota || found < *quota)) quota = found;
}

void read_v2(const std::string& directory, std::optional<double>& quota) {
  if (auto line = first_line(directory + "/cpu.max")) {
    std::istringstream fields(*line);
    std::string limit;
    double period = 0;
    if (fields >> limit >> period && limit != "max" && period > 0) narrow(quota, std::atof(limit.c_str()) / period);
  }
}

void read_v1(const std::string& directory, std::optional<double>& quota) {
  auto limit = first_line(directory + "/cpu.cfs_quota_us");
  auto period = first_line(directory + "/cpu.cfs_period_us");
  if (limit && period && std::atof(limit->c_str()) > 0 && std::atof(period->c_str()) > 0)
    narrow(quota, std::atof(limit->c_str()) / std::atof(period->c_str()));
}

}  // namespace

std::vector<int> allowed_cpus() {
  // Grown until the kernel's mask fits: machines with more CPUs than CPU_SETSIZE exist.
  for (int bits = CPU_SETSIZE; bits <= 1 << 16; bits *= 2) {
    cpu_set_t* set = CPU_ALLOC(bits);
    const std::size_t bytes = CPU_ALLOC_SIZE(bits);
    CPU_ZERO_S(bytes, set);
    std::vector<int> cpus;
    if (sched_getaffinity(0, bytes, set) == 0) {
      for (int cpu = 0; cpu < bits; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (!cpus.empty()) return cpus;
  }
  return {0};
}

std::optional<double> cgroup_cpu_quota(const std::string& root) {
  std::optional<double> quota;
  const std::string base = root + "sys/fs/cgroup";
  // A limit on any ancestor binds too, so every level up to the mount point is read.
  for (bool version_2 : {true, false}) {
    std::string group = own_group(root, version_2);
    for (;;) {
      if (version_2) {
        read_v2(base + group, quota);
      } else {
        read_v1(base + "/cpu" + group, quota);
        read_v1(base + "/cpu,cpuacct" + group, quota);
      }
      if (group.empty() || group == "/") break;
      group.erase(group.rfind('/'));
    }
    read_v1(base + "/cpu", quota);
    read_v2(base, quota);
  }
  return quota;
}

int automatic_worker_count(int allowed, std::optional<double> quota) {
  int count = std::max(1, allowed);
  if (quota) count = std::min(count, std::max(1, static_cast<int>(std::ceil(*quota))));
  return count;
}

std::vector<int> spread_over(const std::vector<int>& cpus, int workers) {
  std::vector<int> places;
  for (int i = 0; i < workers; ++i) places.push_back(cpus[static_cast<std::size_t>(i) % cpus.size()]);
  return places;
}

bool unpin(const std::vector<int>& cpus) noexcept {
  const int bits = cpus.empty() ? CPU_SETSIZE : cpus.back() + 1;
  cpu_set_t* set = CPU_ALLOC(bits);
  if (set == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(bits);
  CPU_ZERO_S(bytes, set);
  for (int cpu : cpus) CPU_SET_S(cpu, bytes, set);
  const bool done = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return done;
}

bool pin_to(int cpu) noexcept {
  const int bits = std::max(cpu + 1, CPU_SETSIZE);
  cpu_set_t* set = CPU_ALLOC(bits);
  if (set == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(bits);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(cpu, bytes, set);
  const bool done = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return done;
}

}  // namespace sluice::master
