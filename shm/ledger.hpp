// The lease ledger: totals of work in flight that stay exact when a worker dies.
//
// A leased record's value is {total, first lease}. A lease says how much of that total belongs to one worker; it hangs
// in two chains, the record's and the worker's (per shard). Acquire and release change total and lease in one
// transaction, so at every instant total = sum of the record's leases. When a worker is dead, the supervisor walks the
// worker's chains and takes what it finds off the totals, one lease per transaction: it may die too and be run again.
//
// Worker numbers are slots of the worker table, unique over all living generations.
#pragma once

#include "shm/dict_core.hpp"

namespace sluice::shm {

// The value of a leased record. Its words are guarded by the shard's lock; total may be read under the sequence.
struct LeasedValue {
  std::uint64_t total;
  std::uint64_t first;  // lease, low half
};
static_assert(sizeof(LeasedValue) == 16);

class Ledger {
 public:
  // `evictable`: records without work in flight hang in the LRU chain and the others do not (LeaseDict).
  // `lock_free_reads`: totals are read under the record's sequence word (LeaseTable).
  Ledger(DictCore& core, bool evictable, bool lock_free_reads) noexcept
      : core_(core), evictable_(evictable), lock_free_reads_(lock_free_reads) {}

  // One more in flight in `worker`. False, nothing changed, when the ledger is full.
  bool add_locked(const DictCore::Section& s, std::uint32_t slot, std::uint32_t worker) const noexcept;

  // One less. False when that worker has none of this record (its ledger was replayed).
  bool drop_locked(const DictCore::Section& s, std::uint32_t slot, std::uint32_t worker) const noexcept;

  // Takes everything of a dead worker off the totals; how much that was. Run again, it does nothing.
  // REQUIRES: the worker does not run any more.
  std::uint64_t replay_dead(std::uint32_t worker) const noexcept;

 private:
  std::uint32_t find_locked(const DictCore::Section& s, std::uint32_t slot, std::uint32_t worker) const noexcept;
  void unhook_locked(const DictCore::Section& s, Transaction& tx, std::uint32_t slot,
                     std::uint32_t lease) const noexcept;
  void settle_locked(const DictCore::Section& s, std::uint32_t slot, std::uint32_t lease,
                     std::uint32_t amount) const noexcept;

  DictCore& core_;
  bool evictable_;
  bool lock_free_reads_;
};

}  // namespace sluice::shm
