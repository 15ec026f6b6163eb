// Worker slots: who is alive, and what each one tells about itself.
//
// A slot number is unique over all living generations and both binaries of an upgrade; it indexes the lease ledgers and
// the metric pages too. Life of a slot: the master claims it before the fork, the worker fills it, and when the worker
// has ended the master settles its debts (Catalog::settle_worker) and only then releases it.
//
// Every field has one writer, the worker in the slot; others read. The admin process has a slot like a worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "shm/region.hpp"
#include "shm/word.hpp"

namespace sluice::shm {

enum class WorkerRole : std::uint32_t { none, worker, admin };

// One line pair per slot, so that neighbours do not share what they write.
struct alignas(2 * kCacheLine) WorkerStatus {
  using Counter = std::atomic<std::uint64_t>;

  std::atomic<std::uint32_t> role;      // WorkerRole; none = the slot is free
  std::atomic<std::int32_t> pid;        // 0 = claimed, not yet started
  std::atomic<std::uint32_t> number;    // worker 0..N-1 of its generation
  std::atomic<std::uint32_t> ready;     // 1 = has its first snapshot and accepts
  std::atomic<std::uint32_t> draining;  // 1 = takes no new connections
  std::atomic<std::uint32_t> generation;
  std::atomic<std::int64_t> heartbeat_ns;  // monotonic
  std::atomic<std::int64_t> started_ns;
  Counter config_epoch;  // last change applied: (epoch, sequence)
  Counter config_sequence;
  Counter accepted, handled, active, reading, writing, waiting, requests;
  Counter memory_bytes;  // accounted

  // The owner's way to count: no locked instruction.
  static void bump(Counter& c, std::uint64_t by = 1) noexcept {
    c.store(c.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  static void drop(Counter& c, std::uint64_t by = 1) noexcept {
    c.store(c.load(std::memory_order_relaxed) - by, std::memory_order_relaxed);
  }
};
static_assert(sizeof(WorkerStatus) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);

// Sums over all slots and over those that have gone.
struct WorkerTotals {
  std::uint64_t accepted = 0, handled = 0, requests = 0;            // since the region was made
  std::uint64_t active = 0, reading = 0, writing = 0, waiting = 0;  // now
};

class WorkerTable {
 public:
  static std::uint64_t footprint(std::uint32_t slots) noexcept;
  static Result<void> format(Region& region, std::uint64_t offset, std::uint32_t slots);
  WorkerTable(const Region& region, std::uint64_t offset) noexcept;

  std::uint32_t slots() const noexcept;

  // A free slot, now taken, its fields zero; nothing when all are in use. Two masters may claim at a time.
  std::optional<std::uint32_t> claim(WorkerRole role, std::uint32_t generation, std::uint32_t number) noexcept;

  // Frees the slot and adds its counts to the retired ones.
  // REQUIRES: its process has ended and Catalog::settle_worker(slot) has run.
  void release(std::uint32_t slot) noexcept;

  WorkerStatus& status(std::uint32_t slot) const noexcept;
  WorkerTotals totals() const noexcept;

  // fn(std::uint32_t slot, const WorkerStatus&) for the slots in use.
  template <class F>
  void for_each(F&& fn) const {
    for (std::uint32_t i = 0; i < slots(); ++i) {
      const WorkerStatus& s = status(i);
      if (s.role.load(std::memory_order_acquire) != 0) fn(i, s);
    }
  }

 private:
  struct Head;
  Head* head_;
  WorkerStatus* status_;
};

}  // namespace sluice::shm
