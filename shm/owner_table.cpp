// OwnerTable: a hash table that only grows, under one robust mutex. See owner_table.hpp.
#include "shm/owner_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::shm {

struct OwnerTable::Head {
  RobustMutex mutex;
  Journal journal;
  Word used;       // entries in use, id 0 included; guarded by mutex
  Word overflows;  // guarded by mutex
  std::uint32_t capacity;
  std::uint32_t buckets;
};

struct OwnerTable::Entry {
  Word hi, lo;
  std::uint32_t next;  // in the bucket's chain
  std::uint32_t length;
  char text[kTextBytes];
};

namespace {
constexpr std::uint64_t kEntryBytes = 24 + OwnerTable::kTextBytes;
std::uint64_t epochs_at(std::uint64_t) { return kPage; }
std::uint64_t buckets_at(std::uint64_t capacity) { return epochs_at(capacity) + align_up(capacity * 4, kCacheLine); }
std::uint64_t entries_at(std::uint64_t capacity) {
  return buckets_at(capacity) + align_up(std::bit_ceil(capacity) * 4, kCacheLine);
}
}  // namespace

std::uint64_t OwnerTable::footprint(std::uint32_t capacity) noexcept {
  return align_up(entries_at(capacity) + capacity * kEntryBytes, kPage);
}

Result<void> OwnerTable::format(Region& region, std::uint64_t offset, std::uint32_t capacity) {
  static_assert(sizeof(Head) <= kPage && sizeof(Entry) == kEntryBytes);
  if (auto ok = region.back(offset, footprint(capacity)); !ok) return ok.error();
  Head& h = *region.at<Head>(offset);
  h.mutex.init();
  h.capacity = capacity;
  h.buckets = std::bit_ceil(capacity);
  h.used = 1;
  return {};
}

OwnerTable::OwnerTable(const Region& region, std::uint64_t offset) noexcept
    : base_(region.data()),
      head_(region.at<Head>(offset)),
      capacity_(head_->capacity),
      bucket_mask_(head_->buckets - 1),
      seed_(region.seed()) {
  epochs_ = region.at<std::uint32_t>(offset + epochs_at(capacity_));
  buckets_ = region.at<std::uint32_t>(offset + buckets_at(capacity_));
  entries_ = region.at<Entry>(offset + entries_at(capacity_));
}

void OwnerTable::recover() noexcept { head_->journal.roll_back(base_); }

OwnerId OwnerTable::intern(std::string_view text) noexcept {
  const Key key = make_key(seed_, {text});
  OwnerId owner{0, key.lo};
  Guard guard(head_->mutex, [this] { recover(); });
  std::uint32_t& bucket = buckets_[key.hi & bucket_mask_];
  for (std::uint32_t i = bucket; i != 0; i = entries_[i].next) {
    if (entries_[i].hi == key.hi && entries_[i].lo == key.lo) {
      owner.id = i;
      return owner;
    }
  }
  if (head_->used >= capacity_) {
    add_word(head_->overflows, 1);
    return owner;
  }
  owner.id = static_cast<std::uint32_t>(head_->used);
  Entry& e = entries_[owner.id];  // nobody can reach it yet: filled without the journal
  e.hi = key.hi;
  e.lo = key.lo;
  e.next = bucket;
  e.length = static_cast<std::uint32_t>(std::min(text.size(), kTextBytes));
  std::memcpy(e.text, text.data(), e.length);
  Transaction tx(head_->journal, base_);
  tx.set_half(bucket, owner.id);
  tx.set(head_->used, head_->used + 1);
  tx.commit();
  return owner;
}

bool OwnerTable::reset(OwnerId owner) noexcept {
  if (owner.id == 0 || owner.id >= capacity_) return false;
  std::atomic_ref<std::uint32_t>(epochs_[owner.id]).fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::string_view OwnerTable::text(std::uint32_t id) const noexcept {
  if (id == 0 || id >= load_word(head_->used)) return {};
  return {entries_[id].text, entries_[id].length};
}

std::uint32_t OwnerTable::size() const noexcept { return static_cast<std::uint32_t>(load_word(head_->used)) - 1; }
std::uint64_t OwnerTable::overflows() const noexcept { return load_word(head_->overflows); }

}  // namespace sluice::shm
