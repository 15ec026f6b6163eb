// DictCore: formatting, sizes, recovery after a dead owner, inspection. See dict_core.hpp.
#include <algorithm>
#include <bit>

#include "shm/dict_core.hpp"
#include "shm/dict_layout.hpp"

namespace sluice::shm {
namespace {

constexpr std::uint32_t kMinSlots = 1;          // per shard
constexpr std::uint64_t kSlotsPerShard = 4096;  // aimed at when the shard count is free
constexpr std::uint32_t kMaxShards = 64;

struct Cost {
  std::uint32_t stride;
  std::uint64_t per_record;  // slot, index, ledger
};

// A slot is whole cache lines, so that records do not share any; what is left behind the value holds the text.
Cost cost_of(const DictShape& shape) noexcept {
  const auto stride =
      static_cast<std::uint32_t>(align_up(64 + shape.value_words * 8 + DictCore::kMinTextBytes, kCacheLine));
  return {stride, stride + 8 + (shape.leases ? sizeof(DictCore::Lease) : 0)};
}

std::uint32_t leases_for(std::uint32_t slots, std::uint32_t worker_slots) noexcept { return slots + worker_slots; }

}  // namespace

struct DictCore::Plan {
  Head head{};
  std::uint64_t footprint = 0;
};

DictCore::Plan DictCore::plan(const DictShape& shape) noexcept {
  Plan p;
  Head& h = p.head;
  const Cost cost = cost_of(shape);
  const std::uint64_t records = std::max<std::uint64_t>(shape.bytes / cost.per_record, 1);
  h.shards = shape.shards != 0
                 ? shape.shards
                 : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
                       std::bit_floor(std::max<std::uint64_t>(records / kSlotsPerShard, 1)), 1, kMaxShards));
  h.bytes = shape.bytes;
  h.stride = cost.stride;
  h.value_words = shape.value_words;
  h.text_bytes = cost.stride - 64 - shape.value_words * 8;
  h.slots = static_cast<std::uint32_t>(std::max<std::uint64_t>(records / h.shards, kMinSlots));
  h.slots_max = h.slots * std::max(shape.growth, 1u);
  h.worker_slots = shape.worker_slots;
  h.leased = shape.leases ? 1 : 0;
  h.buckets = std::bit_ceil(h.slots);
  h.buckets_at = sizeof(Shard) + align_up(h.worker_slots * 4, kCacheLine);
  h.leases_at = align_up(h.buckets_at + h.buckets * 4, kPage);
  const std::uint64_t leases = shape.leases ? leases_for(h.slots_max, h.worker_slots) : 0;
  h.slots_at = align_up(h.leases_at + leases * sizeof(Lease), kPage);
  h.shard_stride = align_up(h.slots_at + std::uint64_t{h.slots_max} * h.stride, kPage);
  p.footprint = kPage + h.shards * h.shard_stride;
  return p;
}

std::uint64_t DictCore::footprint(const DictShape& shape) noexcept { return plan(shape).footprint; }

Result<void> DictCore::format(Region& region, std::uint64_t offset, const DictShape& shape) {
  if (shape.value_words == 0 || shape.value_words > kMaxValueWords)
    return invalid("a value has 1 to 8 words", "shared memory");
  if (shape.shards != 0 && !std::has_single_bit(shape.shards))
    return invalid("the number of shards is a power of two", "shared memory");
  const Head h = plan(shape).head;
  if (auto ok = region.back(offset, kPage); !ok) return ok.error();
  *region.at<Head>(offset) = h;
  for (std::uint32_t n = 0; n < h.shards; ++n) {
    const std::uint64_t at = offset + kPage + n * h.shard_stride;
    const std::uint32_t leases = h.leased != 0 ? leases_for(h.slots, h.worker_slots) : 0;
    if (auto ok = region.back(at, h.leases_at + leases * sizeof(Lease)); !ok) return ok.error();
    if (auto ok = region.back(at + h.slots_at, std::uint64_t{h.slots} * h.stride); !ok) return ok.error();
    Shard& shard = *region.at<Shard>(at);  // fresh pages are zero: empty lists, disarmed journal
    shard.mutex.init();
    shard.backed = pack(h.slots, leases);
    shard.allowance = h.slots;
  }
  return {};
}

Result<void> DictCore::resize(const Region& region, std::uint64_t bytes) noexcept {
  const std::uint64_t per_record = head_->stride + 8 + (head_->leased != 0 ? sizeof(Lease) : 0);
  const std::uint64_t wanted = std::max<std::uint64_t>(bytes / per_record / shards_, kMinSlots);
  if (wanted > slots_max_)
    return Error{Errc::too_large, "shared memory", "cannot grow beyond the reserve made at start", "shm", false};
  const auto slots = static_cast<std::uint32_t>(wanted);
  const std::uint32_t leases = head_->leased != 0 ? leases_for(slots, worker_slots_) : 0;
  for (std::uint32_t n = 0; n < shards_; ++n) {
    // Memory first, outside of the lock; then one store each makes it usable.
    const std::uint64_t at = shards_at_ + n * shard_stride_;
    if (auto ok = region.back(at + leases_at_, leases * sizeof(Lease)); !ok) return ok.error();
    if (auto ok = region.back(at + slots_at_, std::uint64_t{slots} * stride_); !ok) return ok.error();
    Section s(*this, n);
    const Word backed = s.shard().backed;
    store_word(s.shard().backed, pack(std::max(low_half(backed), slots), std::max(high_half(backed), leases)));
    store_word(s.shard().allowance, slots);
  }
  store_word(head_->bytes, bytes);
  return {};
}

// Runs in the process that found the owner dead, under the lock; may be interrupted and run again.
void DictCore::recover_locked(std::uint32_t n) const noexcept {
  Shard& sh = shard(n);
  sh.journal.roll_back(base_);
  if (sh.clearing != 0 || !check_locked(n)) clear_locked(n);
}

// O(1) look at what a roll-back must have left right. Not a full audit: that would hold the lock too long.
bool DictCore::check_locked(std::uint32_t n) const noexcept {
  const Shard& sh = shard(n);
  const std::uint32_t head = low_half(sh.lru), tail = high_half(sh.lru);
  const std::uint32_t used = high_half(sh.free);
  if (used > low_half(sh.backed) || low_half(sh.backed) > slots_max_) return false;
  if (low_half(sh.free) > used || low_half(sh.counts) > used || head > used || tail > used) return false;
  if (high_half(sh.counts) > low_half(sh.counts) || (head == 0) != (tail == 0)) return false;
  if (head == 0) return low_half(sh.counts) == high_half(sh.counts);
  const Slot &first = slot(n, head), &last = slot(n, tail);
  return low_half(first.lru) == 0 && high_half(last.lru) == 0 && (high_half(first.chain) & kLive) != 0 &&
         (high_half(last.chain) & kLive) != 0;
}

void DictCore::clear_locked(std::uint32_t n) const noexcept {
  Shard& sh = shard(n);
  store_word(sh.clearing, 1);
  release_fence();
  for (std::uint32_t i = 1; i <= low_half(sh.backed) && i <= slots_max_; ++i) {
    Slot& r = slot(n, i);
    store_word(r.seq, load_word(r.seq) | 1);
    release_fence();
    store_word(r.chain, 0);
    release_fence();
    store_word(r.seq, load_word(r.seq) + 1);
  }
  std::memset(base_ + shards_at_ + n * shard_stride_ + buckets_at_, 0, (bucket_mask_ + 1) * 4);
  for (std::uint32_t w = 0; w < worker_slots_; ++w) worker_head(n, w) = 0;
  store_word(sh.lru, 0);
  store_word(sh.free, 0);
  store_word(sh.counts, 0);
  store_word(sh.lease_free, 0);
  release_fence();
  store_word(sh.clearing, 0);
  add_word(sh.cleared, 1);
}

std::uint32_t DictCore::copy_some(Cursor& cursor, std::byte* out, bool* done) const noexcept {
  std::uint32_t copied = 0;
  *done = false;
  if (cursor.shard >= shards_) {
    *done = true;
    return 0;
  }
  {
    Section s(*this, cursor.shard);
    const std::uint32_t used = high_half(s.shard().free);
    const std::uint32_t end = std::min(used, cursor.slot + kMaxPerHold - 1);
    for (; cursor.slot <= end; ++cursor.slot) {
      const Slot& r = s.slot(cursor.slot);
      if ((high_half(r.chain) & kLive) != 0) std::memcpy(out + copied++ * stride_, &r, stride_);
    }
    if (cursor.slot <= used) return copied;
  }
  ++cursor.shard;
  cursor.slot = 1;
  *done = cursor.shard >= shards_;
  return copied;
}

// Without the locks: single words, so each figure is right by itself.
Stats DictCore::stats() const noexcept {
  Stats t;
  t.bytes = load_word(head_->bytes);
  for (std::uint32_t n = 0; n < shards_; ++n) {
    const Shard& sh = shard(n);
    t.capacity += load_word(sh.allowance);
    t.entries += low_half(load_word(sh.counts));
    t.pinned += high_half(load_word(sh.counts));
    t.hits += load_word(sh.hits);
    t.misses += load_word(sh.misses);
    t.evictions += load_word(sh.evictions);
    t.expired += load_word(sh.expired);
    t.refused += load_word(sh.refused);
    t.cleared += load_word(sh.cleared);
    t.lock_waits += sh.mutex.waits();
    t.recoveries += sh.mutex.recoveries();
  }
  return t;
}

}  // namespace sluice::shm
