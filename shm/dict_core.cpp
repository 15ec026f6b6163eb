// DictCore: layout, records, LRU, eviction. See dict_core.hpp; recovery, inspection and sizes are in dict_upkeep.cpp.
#include "shm/dict_core.hpp"

#include <algorithm>
#include <array>

#include "shm/dict_layout.hpp"

namespace sluice::shm {
namespace {

using Slot = DictCore::Slot;
using Shard = DictCore::Shard;

// Length of the LRU's tail that is looked at for an expired record before a living one is evicted.
constexpr int kExpiredScan = 4;

std::uint32_t newer(const Slot& r) noexcept { return low_half(r.lru); }
std::uint32_t older(const Slot& r) noexcept { return high_half(r.lru); }

}  // namespace

DictCore::DictCore(const Region& region, std::uint64_t offset, const OwnerTable* owners) noexcept
    : base_(region.data()),
      head_(region.at<Head>(offset)),
      owners_(owners),
      shards_at_(offset + kPage),
      shard_stride_(head_->shard_stride),
      buckets_at_(head_->buckets_at),
      leases_at_(head_->leases_at),
      slots_at_(head_->slots_at),
      bucket_mask_(head_->buckets - 1),
      shards_(head_->shards),
      stride_(head_->stride),
      value_words_(head_->value_words),
      text_bytes_(head_->text_bytes),
      slots_max_(head_->slots_max),
      worker_slots_(head_->worker_slots),
      seed_(region.seed()) {}

std::uint32_t DictCore::find_locked(const Section& s, const Key& key) const noexcept {
  // Chains are short; the bound keeps a damaged one from holding the lock for ever.
  std::uint32_t left = slots_max_;
  for (std::uint32_t i = bucket(s.number(), key); i != 0 && left != 0; --left) {
    const Slot& r = s.slot(i);
    if (r.lo == key.lo && r.hi == key.hi) return i;
    i = low_half(r.chain);
  }
  return 0;
}

// The LRU chain runs from head (newest) to tail (oldest). At most four words of other records change per operation.
void DictCore::lru_unlink_locked(const Section& s, Transaction& tx, std::uint32_t slot) const noexcept {
  Slot& r = s.slot(slot);
  const std::uint32_t before = newer(r), after = older(r);
  Word ends = s.shard().lru;
  if (before != 0)
    tx.set(s.slot(before).lru, with_high(s.slot(before).lru, after));
  else
    ends = with_low(ends, after);
  if (after != 0)
    tx.set(s.slot(after).lru, with_low(s.slot(after).lru, before));
  else
    ends = with_high(ends, before);
  tx.set(s.shard().lru, ends);
  tx.set(r.lru, 0);
}

void DictCore::lru_push_locked(const Section& s, Transaction& tx, std::uint32_t slot) const noexcept {
  const Word ends = s.shard().lru;
  const std::uint32_t head = low_half(ends);
  tx.set(s.slot(slot).lru, pack(0, head));
  if (head != 0) tx.set(s.slot(head).lru, with_low(s.slot(head).lru, slot));
  tx.set(s.shard().lru, pack(slot, head != 0 ? high_half(ends) : slot));
}

void DictCore::touch_locked(const Section& s, std::uint32_t slot) const noexcept {
  if (low_half(s.shard().lru) == slot) return;
  Transaction tx = s.begin();
  lru_unlink_locked(s, tx, slot);
  lru_push_locked(s, tx, slot);
  tx.commit();
}

void DictCore::write_locked(const Section& s, std::uint32_t slot, OwnerId owner, std::span<const Word> value,
                            const RecordMeta& meta) const noexcept {
  Slot& r = s.slot(slot);
  Transaction tx = s.begin();
  for (std::size_t i = 0; i < value.size(); ++i) tx.set(r.value[i], value[i]);
  tx.set(r.expiry, static_cast<Word>(to_ns(meta.expires)));
  tx.set(r.limit, meta.limit);
  tx.set(r.owner, pack(owner.id, owners_ != nullptr ? owners_->epoch(owner.id) : 0));
  if (low_half(s.shard().lru) != slot) {
    lru_unlink_locked(s, tx, slot);
    lru_push_locked(s, tx, slot);
  }
  tx.commit();
}

bool DictCore::has_room_locked(const Section& s) const noexcept {
  const Shard& shard = s.shard();
  return low_half(shard.counts) < shard.allowance &&
         (low_half(shard.free) != 0 || high_half(shard.free) < low_half(shard.backed));
}

// Frees at least one slot, and after a shrink at most two. The victim is the oldest expired record among the last
// kExpiredScan of the LRU chain, else the oldest. False when every record is pinned.
bool DictCore::make_room_locked(const Section& s, TimePoint now) const noexcept {
  Shard& shard = s.shard();
  for (int round = 0; round < 2 && !has_room_locked(s); ++round) {
    std::uint32_t victim = high_half(shard.lru);
    if (victim == 0) break;
    bool expired = false;
    std::uint32_t i = victim;
    for (int n = 0; n < kExpiredScan && i != 0 && !expired; ++n) {
      if (!alive_locked(s.slot(i), now)) {
        victim = i;
        expired = true;
      }
      i = newer(s.slot(i));
    }
    remove_locked(s, victim);
    add_word(expired ? shard.expired : shard.evictions, 1);
  }
  return low_half(shard.free) != 0 || high_half(shard.free) < low_half(shard.backed);
}

void DictCore::remove_locked(const Section& s, std::uint32_t slot) const noexcept {
  Shard& shard = s.shard();
  Slot& r = s.slot(slot);
  const bool linked = r.lru != 0 || low_half(shard.lru) == slot;
  Transaction tx = s.begin();
  // Readers without the lock must not take the freed slot for the record.
  tx.open_seq(r.seq);
  std::uint32_t& first = bucket(s.number(), Key{r.hi, r.lo});
  if (first == slot) {
    tx.set_half(first, low_half(r.chain));
  } else {
    std::uint32_t before = first;
    while (low_half(s.slot(before).chain) != slot) before = low_half(s.slot(before).chain);
    tx.set(s.slot(before).chain, with_low(s.slot(before).chain, low_half(r.chain)));
  }
  if (linked) lru_unlink_locked(s, tx, slot);
  tx.set(r.chain, pack(low_half(shard.free), 0));
  tx.set(shard.free, with_low(shard.free, slot));
  tx.set(shard.counts, pack(low_half(shard.counts) - 1, high_half(shard.counts) - (linked ? 0 : 1)));
  tx.commit();
}

std::uint32_t DictCore::insert_locked(const Section& s, const Fresh& record, TimePoint now) const noexcept {
  Shard& shard = s.shard();
  if (!has_room_locked(s) && !make_room_locked(s, now)) {
    add_word(shard.refused, 1);
    return 0;
  }
  const bool reuse = low_half(shard.free) != 0;
  const std::uint32_t slot = reuse ? low_half(shard.free) : high_half(shard.free) + 1;
  Slot& r = s.slot(slot);
  Transaction tx = s.begin();
  if (record.pinned) tx.open_seq(r.seq);

  // Nobody can reach the slot yet: filled without the journal.
  store_word(r.hi, record.key.hi);
  store_word(r.lo, record.key.lo);
  store_word(r.expiry, static_cast<Word>(to_ns(record.meta.expires)));
  store_word(r.limit, record.meta.limit);
  store_word(r.owner, pack(record.owner.id, owners_ != nullptr ? owners_->epoch(record.owner.id) : 0));
  store_word(r.lru, 0);
  for (std::uint32_t i = 0; i < value_words_; ++i)
    store_word(r.value[i], i < record.value.size() ? record.value[i] : 0);
  const auto length = static_cast<std::uint32_t>(std::min<std::size_t>(record.text.size(), text_bytes_));
  std::memcpy(reinterpret_cast<char*>(&r) + 64 + value_words_ * 8, record.text.data(), length);
  step_for_test();

  tx.set(shard.free, reuse ? with_low(shard.free, low_half(r.chain)) : with_high(shard.free, slot));
  std::uint32_t& first = bucket(s.number(), record.key);
  tx.set(r.chain, pack(first, length | kLive));
  tx.set_half(first, slot);
  tx.set(shard.counts, pack(low_half(shard.counts) + 1, high_half(shard.counts) + (record.pinned ? 1 : 0)));
  if (!record.pinned) lru_push_locked(s, tx, slot);
  tx.commit();
  return slot;
}

}  // namespace sluice::shm
