// SlotTable: the parts that need no template. See slot_table.hpp.
#include "shm/slot_table.hpp"

#include <algorithm>

namespace sluice::shm {

// Clock hand over the shard's slots: frees the first of 64 that is idle. The hand is shard.spare[0].
bool SlotCore::steal_locked(const DictCore::Section& s, TimePoint now) const noexcept {
  DictCore::Shard& shard = s.shard();
  const std::uint32_t used = high_half(shard.free);
  const std::int64_t idle_since = to_ns(now) - std::chrono::nanoseconds(kIdle).count();
  for (std::uint32_t k = 0; k < DictCore::kMaxPerHold && k < used; ++k) {
    const auto i = static_cast<std::uint32_t>(load_word(shard.spare[0]) % used) + 1;
    add_word(shard.spare[0], 1);
    const DictCore::Slot& r = s.slot(i);
    if ((high_half(r.chain) & DictCore::kLive) == 0) continue;
    if (leases_ && r.value[0] != 0) continue;
    // limit holds the time of interning: a slot that was never updated is not idle before kIdle has passed.
    const auto seen = std::max(static_cast<std::int64_t>(r.expiry), static_cast<std::int64_t>(r.limit));
    if (seen > idle_since) continue;
    core_->remove_locked(s, i);
    add_word(shard.evictions, 1);
    return true;
  }
  return false;
}

SlotRef SlotCore::intern(std::string_view text, TimePoint now) const noexcept {
  const Key key = make_key(core_->seed(), {text});
  DictCore::Section s(*core_, key);
  std::uint32_t slot = core_->find_locked(s, key);
  if (slot != 0) {
    store_word(s.slot(slot).limit, static_cast<Word>(to_ns(now)));
    add_word(s.shard().hits, 1);
  } else {
    add_word(s.shard().misses, 1);
    DictCore::Fresh fresh{key, {}, text, {}, {}, true};
    fresh.meta.limit = static_cast<std::uint64_t>(to_ns(now));
    const bool full = low_half(s.shard().counts) >= s.shard().allowance;
    if (full && !steal_locked(s, now)) {
      add_word(s.shard().refused, 1);
      return SlotRef{key, s.number(), 0};
    }
    slot = core_->insert_locked(s, fresh, now);
  }
  return SlotRef{key, s.number(), slot};
}

SlotRef SlotCore::find(std::string_view text) const noexcept {
  const Key key = make_key(core_->seed(), {text});
  DictCore::Section s(*core_, key);
  return SlotRef{key, s.number(), core_->find_locked(s, key)};
}

bool SlotCore::forget(const SlotRef& ref) const noexcept {
  if (!ref) return false;
  DictCore::Section s(*core_, ref.shard);
  const DictCore::Slot& r = slot(ref);
  if (!holds(r, ref) || (leases_ && r.value[0] != 0)) return false;
  core_->remove_locked(s, ref.slot);
  return true;
}

ReadState SlotCore::read_words(const SlotRef& ref, std::span<Word> out) const noexcept {
  if (!ref) return ReadState::absent;
  const DictCore::Slot& r = slot(ref);
  bool present = false;
  const bool clean = seq_read(r.seq, [&] {
    present = holds(r, ref) && load_word(r.expiry) != 0;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = load_word(r.value[i]);
  });
  if (!clean) return ReadState::busy;
  return present ? ReadState::ok : ReadState::absent;
}

void SlotCore::write_words_locked(const DictCore::Section& s, DictCore::Slot& r, std::span<const Word> value,
                                  TimePoint now) const noexcept {
  Transaction tx = s.begin();
  tx.open_seq(r.seq);
  for (std::size_t i = 0; i < value.size(); ++i) tx.set(r.value[i], value[i]);
  tx.set(r.expiry, std::max<Word>({1, r.expiry, static_cast<Word>(to_ns(now))}));
  tx.commit();
}

bool LeaseTable::acquire(const SlotRef& ref, std::uint32_t worker, TimePoint now) const noexcept {
  if (!ref) return false;
  DictCore::Section s(*core_, ref.shard);
  DictCore::Slot& r = slot(ref);
  if (!holds(r, ref)) return false;
  if (!Ledger(*core_, false, true).add_locked(s, ref.slot, worker)) {
    add_word(s.shard().refused, 1);
    return false;
  }
  // A stamp of use, no part of the record: not journaled.
  store_word(r.expiry, std::max<Word>({1, r.expiry, static_cast<Word>(to_ns(now))}));
  return true;
}

void LeaseTable::release(const SlotRef& ref, std::uint32_t worker) const noexcept {
  if (!ref) return;
  DictCore::Section s(*core_, ref.shard);
  if (holds(slot(ref), ref)) Ledger(*core_, false, true).drop_locked(s, ref.slot, worker);
}

std::uint64_t LeaseTable::in_flight(const SlotRef& ref) const noexcept {
  Word total = 0;
  return read_words(ref, {&total, 1}) == ReadState::ok ? total : 0;
}

}  // namespace sluice::shm
