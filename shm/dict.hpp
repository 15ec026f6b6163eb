// Dict<V>: the evicting dictionary. The one primitive is update(): a short noexcept function on one record under the
// lock of its shard. There is no get followed by a set, so nothing can come between: exact across workers.
//
// V is trivially copyable, a multiple of 8 bytes, at most 64. It starts as zero bytes plus V's default member values
// when there is no living record. Full: expired records go first (bounded scan), then the least recently used; both are
// counted; an update never fails.
//
//   Dict<Bucket> dict(catalog.limit_req());
//   const Key key = dict.key(owner, "10.0.0.1");
//   dict.update(key, owner, "10.0.0.1", now, [&](Bucket& b, bool fresh, RecordMeta& meta) noexcept {
//     if (…over the limit…) return meta.discard();
//     b.excess = …; meta.expires = now + …; meta.limit = …;
//   });
#pragma once

#include <array>
#include <cassert>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "shm/dict_core.hpp"

namespace sluice::shm {

template <class V>
inline constexpr bool kIsShared = std::conjunction_v<std::is_trivially_copyable<V>, std::is_default_constructible<V>> &&
                                  sizeof(V) % 8 == 0 && sizeof(V) <= 8 * DictCore::kMaxValueWords && alignof(V) <= 8;

// A copy of a record, for inspection.
template <class V>
struct Record {
  Key key;
  std::uint32_t owner = 0;  // OwnerTable::text() names it
  std::string_view text;    // of the key, may be cut; valid during the call only
  TimePoint expires{};
  std::uint64_t limit = 0;
  V value{};
};

template <class V>
class Dict {
  static_assert(kIsShared<V>, "trivially copyable, a multiple of 8 bytes, at most 64");

 public:
  // REQUIRES: V fits the values of `core`, which outlives the Dict.
  explicit Dict(DictCore& core) noexcept : core_(&core) { assert(sizeof(V) <= 8 * core.value_words()); }

  Key key(OwnerId owner, std::string_view text) const noexcept { return make_key(core_->seed(), owner, text); }

  // fn(V& value, bool fresh, RecordMeta& meta) noexcept, on a copy under the lock; when it returns the record is
  // written, whole or (should we die) not at all. `fresh`: there was no living record, value is V{} and meta empty.
  // fn must be O(1): no I/O, no log, no allocation, no other shared-memory call. `text` is kept for inspection.
  // Returns fresh.
  template <class F>
  bool update(const Key& key, OwnerId owner, std::string_view text, TimePoint now, F&& fn) noexcept {
    static_assert(std::is_nothrow_invocable_v<F&, V&, bool, RecordMeta&>, "fn must be noexcept");
    DictCore::Section s(*core_, key);
    const std::uint32_t slot = core_->find_locked(s, key);
    RecordMeta meta;
    const bool fresh = slot == 0 || !core_->alive_locked(s.slot(slot), now);
    V value = fresh ? V{} : load(s.slot(slot), meta);
    fn(value, fresh, meta);
    if (meta.discarded) {
      if (slot != 0 && !fresh) core_->touch_locked(s, slot);
    } else {
      Words words;
      std::memcpy(words.data(), &value, sizeof(V));
      if (slot != 0)
        core_->write_locked(s, slot, owner, words, meta);
      else
        core_->insert_locked(s, {key, owner, text, words, meta}, now);
    }
    add_word(fresh ? s.shard().misses : s.shard().hits, 1);
    if (fresh && slot != 0 && !meta.discarded) add_word(s.shard().expired, 1);
    return fresh;
  }

  // Copies a living record without touching the LRU order or the statistics. False when there is none.
  bool peek(const Key& key, TimePoint now, V& out, RecordMeta* meta = nullptr) const noexcept {
    DictCore::Section s(*core_, key);
    const std::uint32_t slot = core_->find_locked(s, key);
    if (slot == 0 || !core_->alive_locked(s.slot(slot), now)) return false;
    RecordMeta found;
    out = load(s.slot(slot), found);
    if (meta != nullptr) *meta = found;
    return true;
  }

  bool erase(const Key& key) noexcept {
    DictCore::Section s(*core_, key);
    const std::uint32_t slot = core_->find_locked(s, key);
    if (slot == 0) return false;
    core_->remove_locked(s, slot);
    return true;
  }

  // Calls fn(const Record<V>&) for the living records among the next slots, at most 64 per lock hold and outside the
  // lock. False when the end was reached. A record that moves meanwhile may be missed or seen twice.
  template <class F>
  bool for_each_some(DictCore::Cursor& cursor, TimePoint now, F&& fn) const {
    alignas(8) std::byte copies[DictCore::kMaxPerHold * 256];
    bool done = false;
    const std::uint32_t n = core_->copy_some(cursor, copies, &done);
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto& slot = *reinterpret_cast<const DictCore::Slot*>(copies + i * core_->stride());
      if (!core_->alive_locked(slot, now)) continue;
      RecordMeta meta;
      Record<V> r{{slot.hi, slot.lo}, low_half(slot.owner), core_->text_of(slot), {}, 0, load(slot, meta)};
      r.expires = meta.expires;
      r.limit = meta.limit;
      fn(static_cast<const Record<V>&>(r));
    }
    return !done;
  }
  template <class F>
  void for_each(TimePoint now, F&& fn) const {
    DictCore::Cursor cursor;
    while (for_each_some(cursor, now, fn)) {
    }
  }

  Stats stats() const noexcept { return core_->stats(); }
  DictCore& core() const noexcept { return *core_; }

 private:
  using Words = std::array<Word, sizeof(V) / 8>;

  static V load(const DictCore::Slot& slot, RecordMeta& meta) noexcept {
    V value;
    std::memcpy(static_cast<void*>(&value), slot.value, sizeof(V));
    meta.expires = from_ns(static_cast<std::int64_t>(slot.expiry));
    meta.limit = slot.limit;
    return value;
  }

  DictCore* core_;
};

}  // namespace sluice::shm
