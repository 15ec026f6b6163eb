// LeaseDict: work in flight per key (limit-conn). An evicting dictionary whose records are pinned while anything of
// them is in flight; what a worker holds is written in its ledger, so that its death returns everything.
//
// Admission policy when no record can be made (all pinned, or the ledger is full): admit without counting; counted in
// stats().refused. A limiter that cannot count does not turn users away.
//
//   auto got = dict.try_acquire(key, owner, text, worker, now, [&](std::uint64_t in_flight) noexcept {
//     return in_flight <= conn + burst;            // in_flight includes this one
//   });
//   …
//   dict.release(got.lease, worker);
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>

#include "shm/dict_core.hpp"
#include "shm/ledger.hpp"

namespace sluice::shm {

// One unit in flight. Trivially copyable; to be released exactly once, by the worker that acquired it.
struct LeaseHandle {
  Key key;
  std::uint32_t shard = 0;
  std::uint32_t slot = 0;  // 0: admitted without counting, release does nothing
};

struct Acquired {
  bool admitted = false;
  std::uint64_t in_flight = 0;  // with this one
  LeaseHandle lease;
};

class LeaseDict {
 public:
  // REQUIRES: `core` was formatted with leases, and outlives this.
  explicit LeaseDict(DictCore& core) noexcept : core_(&core) {}

  Key key(OwnerId owner, std::string_view text) const noexcept { return make_key(core_->seed(), owner, text); }

  // admit(in_flight including this one) noexcept decides under the lock; false writes nothing.
  // `limit` is kept in the record for inspection. REQUIRES: worker < worker_slots of the shape.
  template <class F>
  Acquired try_acquire(const Key& key, OwnerId owner, std::string_view text, std::uint32_t worker, TimePoint now,
                       F&& admit, std::uint64_t limit = 0) noexcept {
    static_assert(std::is_nothrow_invocable_r_v<bool, F&, std::uint64_t>, "admit must be noexcept");
    DictCore::Section s(*core_, key);
    const std::uint32_t slot = core_->find_locked(s, key);
    const std::uint64_t in_flight = (slot != 0 ? s.slot(slot).value[0] : 0) + 1;
    if (!admit(in_flight)) {
      add_word(slot != 0 ? s.shard().hits : s.shard().misses, 1);
      return Acquired{false, in_flight, {}};
    }
    return Acquired{true, in_flight, acquire_locked(s, slot, key, owner, text, worker, now, limit)};
  }

  void release(const LeaseHandle& lease, std::uint32_t worker) noexcept;

  // How many are in flight now.
  std::uint64_t in_flight(const Key& key) const noexcept;

  // Supervisor: returns everything a dead worker held; how much that was. Idempotent.
  std::uint64_t replay_dead(std::uint32_t worker) noexcept { return ledger().replay_dead(worker); }

  // fn(const Key&, owner id, text, in flight, limit) for up to 64 records, outside the lock. False at the end.
  template <class F>
  bool for_each_some(DictCore::Cursor& cursor, F&& fn) const {
    alignas(8) std::byte copies[DictCore::kMaxPerHold * 256];
    bool done = false;
    const std::uint32_t n = core_->copy_some(cursor, copies, &done);
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto& r = *reinterpret_cast<const DictCore::Slot*>(copies + i * core_->stride());
      fn(Key{r.hi, r.lo}, low_half(r.owner), core_->text_of(r), std::uint64_t{r.value[0]}, std::uint64_t{r.limit});
    }
    return !done;
  }

  Stats stats() const noexcept { return core_->stats(); }
  DictCore& core() const noexcept { return *core_; }

 private:
  Ledger ledger() const noexcept { return Ledger(*core_, true, false); }
  LeaseHandle acquire_locked(const DictCore::Section& s, std::uint32_t slot, const Key& key, OwnerId owner,
                             std::string_view text, std::uint32_t worker, TimePoint now, std::uint64_t limit) noexcept;

  DictCore* core_;
};

}  // namespace sluice::shm
