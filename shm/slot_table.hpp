// SlotTable<V>: pinned records, never evicted, for what belongs to a node of an upstream: EWMA score, health state,
// requests in flight. intern() gives a reference when a configuration is compiled; requests go straight to the slot,
// read without any lock, and write under the shard's lock.
//
// There is no reference counting (a process that dies would leak counts). A slot stays until the table is full; then
// intern() takes over a slot that nobody has updated for kIdle (and, with leases, that has nothing in flight), looking
// at 64 at most. A reference to a slot that has changed hands reads as absent, because the key is part of what is read;
// whoever holds it interns anew. Admission policy when no slot can be had: intern() returns an empty reference, counted
// in stats().refused; reading it says absent and updating it does nothing, so the caller falls back to the peers' mean.
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "shm/dict.hpp"
#include "shm/dict_core.hpp"
#include "shm/ledger.hpp"
#include "shm/seqlock.hpp"

namespace sluice::shm {

struct SlotRef {
  Key key;
  std::uint32_t shard = 0;
  std::uint32_t slot = 0;  // 0 = no slot
  explicit operator bool() const noexcept { return slot != 0; }
  friend bool operator==(const SlotRef&, const SlotRef&) = default;
};

enum class ReadState : unsigned char {
  ok,
  absent,  // never updated, no slot, or the slot has changed hands
  busy,    // a writer was in the way each time, or died there: read_locked() repairs, or use the peers' mean
};

// What the faces share.
class SlotCore {
 public:
  static constexpr std::chrono::minutes kIdle{10};

  SlotCore(DictCore& core, bool leases) noexcept : core_(&core), leases_(leases) {}

  // The slot of `text` for everybody, made now if need be. `text` names kind and node, e.g.
  // "/apisix/upstreams/1|10.0.0.1:80".
  SlotRef intern(std::string_view text, TimePoint now) const noexcept;
  SlotRef find(std::string_view text) const noexcept;

  // Gives the slot back at once. References to it read as absent from now on.
  bool forget(const SlotRef& ref) const noexcept;

  Stats stats() const noexcept { return core_->stats(); }
  DictCore& core() const noexcept { return *core_; }

 protected:
  bool holds(const DictCore::Slot& r, const SlotRef& ref) const noexcept {
    return ref.slot != 0 && load_word(r.hi) == ref.key.hi && load_word(r.lo) == ref.key.lo &&
           (high_half(load_word(r.chain)) & DictCore::kLive) != 0;
  }
  DictCore::Slot& slot(const SlotRef& ref) const noexcept {
    return core_->slot(ref.shard, ref.slot != 0 ? ref.slot : 1);
  }
  // Copies the value's front and says whether the record was ever updated.
  ReadState read_words(const SlotRef& ref, std::span<Word> out) const noexcept;
  void write_words_locked(const DictCore::Section& s, DictCore::Slot& r, std::span<const Word> value,
                          TimePoint now) const noexcept;
  bool steal_locked(const DictCore::Section& s, TimePoint now) const noexcept;

  DictCore* core_;
  bool leases_;
};

template <class V>
class SlotTable : public SlotCore {
  static_assert(kIsShared<V>, "trivially copyable, a multiple of 8 bytes, at most 64");
  static constexpr std::uint32_t kWords = sizeof(V) / 8;

 public:
  // REQUIRES: V fits the values of `core`, which outlives the table.
  explicit SlotTable(DictCore& core) noexcept : SlotCore(core, false) { assert(kWords <= core.value_words()); }

  // Consistent copy without a lock; a few ns. Age is the caller's business (V holds its stamps).
  ReadState read(const SlotRef& ref, V& out) const noexcept {
    std::array<Word, kWords> words;
    const ReadState state = read_words(ref, words);
    if (state == ReadState::ok) std::memcpy(static_cast<void*>(&out), words.data(), sizeof(V));
    return state;
  }

  // The same under the lock: never busy, and repairs what a dead writer left.
  ReadState read_locked(const SlotRef& ref, V& out) const noexcept {
    if (!ref) return ReadState::absent;
    DictCore::Section s(*core_, ref.shard);
    return read(ref, out);
  }

  // fn(V& value, bool fresh) noexcept under the lock; `fresh`: never updated before, value is V{}.
  // False, fn not called, when the reference has no slot any more.
  template <class F>
  bool update(const SlotRef& ref, TimePoint now, F&& fn) const noexcept {
    static_assert(std::is_nothrow_invocable_v<F&, V&, bool>, "fn must be noexcept");
    if (!ref) return false;
    DictCore::Section s(*core_, ref.shard);
    DictCore::Slot& r = slot(ref);
    if (!holds(r, ref)) return false;
    const bool fresh = r.expiry == 0;
    V value{};
    if (!fresh) std::memcpy(static_cast<void*>(&value), r.value, sizeof(V));
    fn(value, fresh);
    std::array<Word, kWords> words;
    std::memcpy(words.data(), &value, sizeof(V));
    write_words_locked(s, r, words, now);
    return true;
  }

  // fn(std::string_view text, const V&) for up to 64 slots that were ever updated, outside the lock. False at the end.
  template <class F>
  bool for_each_some(DictCore::Cursor& cursor, F&& fn) const {
    alignas(8) std::byte copies[DictCore::kMaxPerHold * 256];
    bool done = false;
    const std::uint32_t n = core_->copy_some(cursor, copies, &done);
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto& r = *reinterpret_cast<const DictCore::Slot*>(copies + i * core_->stride());
      if (r.expiry == 0) continue;
      V value;
      std::memcpy(static_cast<void*>(&value), r.value, sizeof(V));
      fn(core_->text_of(r), static_cast<const V&>(value));
    }
    return !done;
  }
};

// Score of a node as the EWMA balancer keeps it. The one floating-point number in shared memory: it is a mean that
// ages, not a count. It expires logically: whoever reads it weighs it by the age of `last`.
struct EwmaScore {
  double score = 0;
  std::int64_t last_ns = 0;  // of the last update; never goes back
};
using EwmaTable = SlotTable<EwmaScore>;

// LeaseTable: requests in flight per node (least_conn), exact over worker deaths.
class LeaseTable : public SlotCore {
 public:
  // REQUIRES: `core` was formatted with leases.
  explicit LeaseTable(DictCore& core) noexcept : SlotCore(core, true) {}

  // One more in flight on the node. False (not counted) when there is no slot or the ledger is full.
  bool acquire(const SlotRef& ref, std::uint32_t worker, TimePoint now) const noexcept;
  // One less; only for what acquire() said true to.
  void release(const SlotRef& ref, std::uint32_t worker) const noexcept;

  // Total over all workers, without a lock; 0 when there is no slot or a writer was in the way each time.
  std::uint64_t in_flight(const SlotRef& ref) const noexcept;

  // Supervisor: returns everything a dead worker held. Idempotent.
  std::uint64_t replay_dead(std::uint32_t worker) const noexcept {
    return Ledger(*core_, false, true).replay_dead(worker);
  }
};

}  // namespace sluice::shm
