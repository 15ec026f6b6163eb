// Which CPUs this program may use, and how many of them the control group pays for.
//
// The affinity mask (taskset, cpuset) says which CPUs; the cgroup quota (v1 cfs_quota_us, v2 cpu.max) says how much of
// them. `worker_processes: auto` is the smaller of both; pinning stays inside the mask.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sluice::master {

std::vector<int> allowed_cpus();                              // of the calling process, ascending; never empty
std::optional<double> cgroup_cpu_quota(const std::string& root = "/");   // CPUs' worth; nothing when unlimited

// min(allowed, ceil(quota)), at least 1.
int automatic_worker_count(int allowed, std::optional<double> quota);

// The CPU of each of `workers` workers: the allowed ones in turn.
std::vector<int> spread_over(const std::vector<int>& cpus, int workers);

bool pin_to(int cpu) noexcept;                                // calling process; false with errno set
bool unpin(const std::vector<int>& cpus) noexcept;

}  // namespace sluice::master
