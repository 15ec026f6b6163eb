// WorkerTable. See worker_table.hpp.
#include "shm/worker_table.hpp"

namespace sluice::shm {

// Counts of released slots. Two masters may release at a time, hence atomic adds.
struct WorkerTable::Head {
  std::uint32_t slots;
  std::uint32_t reserved;
  std::atomic<std::uint64_t> accepted, handled, requests;
};

std::uint64_t WorkerTable::footprint(std::uint32_t slots) noexcept {
  return align_up(kPage + std::uint64_t{slots} * sizeof(WorkerStatus), kPage);
}

Result<void> WorkerTable::format(Region& region, std::uint64_t offset, std::uint32_t slots) {
  if (auto ok = region.back(offset, footprint(slots)); !ok) return ok.error();
  region.at<Head>(offset)->slots = slots;  // the rest is zero: every slot is free
  return {};
}

WorkerTable::WorkerTable(const Region& region, std::uint64_t offset) noexcept
    : head_(region.at<Head>(offset)), status_(region.at<WorkerStatus>(offset + kPage)) {}

std::uint32_t WorkerTable::slots() const noexcept { return head_->slots; }

WorkerStatus& WorkerTable::status(std::uint32_t slot) const noexcept { return status_[slot]; }

std::optional<std::uint32_t> WorkerTable::claim(WorkerRole role, std::uint32_t generation,
                                                std::uint32_t number) noexcept {
  for (std::uint32_t i = 0; i < slots(); ++i) {
    WorkerStatus& s = status_[i];
    std::uint32_t none = 0;
    if (!s.role.compare_exchange_strong(none, static_cast<std::uint32_t>(role), std::memory_order_acq_rel)) continue;
    s.generation = generation;
    s.number = number;
    return i;
  }
  return std::nullopt;
}

void WorkerTable::release(std::uint32_t slot) noexcept {
  WorkerStatus& s = status_[slot];
  if (s.role.load(std::memory_order_acquire) == 0) return;
  head_->accepted += s.accepted.exchange(0);
  head_->handled += s.handled.exchange(0);
  head_->requests += s.requests.exchange(0);
  for (auto* c : {&s.active, &s.reading, &s.writing, &s.waiting, &s.memory_bytes, &s.config_epoch, &s.config_sequence})
    *c = 0;
  s.pid = 0;
  s.ready = 0;
  s.draining = 0;
  s.heartbeat_ns = 0;
  s.started_ns = 0;
  s.role.store(0, std::memory_order_release);
}

WorkerTotals WorkerTable::totals() const noexcept {
  WorkerTotals t;
  t.accepted = head_->accepted;
  t.handled = head_->handled;
  t.requests = head_->requests;
  for_each([&](std::uint32_t, const WorkerStatus& s) {
    t.accepted += s.accepted;
    t.handled += s.handled;
    t.requests += s.requests;
    t.active += s.active;
    t.reading += s.reading;
    t.writing += s.writing;
    t.waiting += s.waiting;
  });
  return t;
}

}  // namespace sluice::shm
