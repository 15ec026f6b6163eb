// The workers a write waits for, as the shared worker table knows them.
#pragma once

#include <cstdint>
#include <vector>

#include "admin/bus/ack_waits.hpp"
#include "shm/worker_table.hpp"

namespace sluice::admin {

inline std::vector<LiveWorker> accepting_workers(const shm::WorkerTable& table, std::uint64_t generation) {
  std::vector<LiveWorker> workers;
  table.for_each([&](std::uint32_t slot, const shm::WorkerStatus& status) {
    if (status.role.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(shm::WorkerRole::worker)) return;
    if (status.generation.load(std::memory_order_relaxed) != generation) return;
    if (status.ready.load(std::memory_order_acquire) == 0 || status.draining.load(std::memory_order_relaxed) != 0) return;
    workers.push_back({slot, static_cast<std::uint32_t>(status.pid.load(std::memory_order_relaxed))});
  });
  return workers;
}

}  // namespace sluice::admin
