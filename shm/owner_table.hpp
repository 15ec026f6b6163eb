// Owners of records: which plugin of which resource a record belongs to, interned as a small number with an epoch.
//
// intern("limit-count|/apisix/routes/1") gives the same id in every process and every generation. Records carry the id
// and the epoch they were written under; reset() bumps the epoch, and every record of the owner counts as absent from
// then on: no scan. Interning is for the compile of a configuration, never for a request.
//
// The table only grows. When it is full, further owners get id 0: their records work as ever (keys are hashed from the
// owner's text, not from the id), but they cannot be reset one by one and show no name. That is counted.
#pragma once

#include <cstdint>
#include <string_view>

#include "shm/hash.hpp"
#include "shm/journal.hpp"
#include "shm/region.hpp"
#include "shm/robust_mutex.hpp"

namespace sluice::shm {

// id names the owner in records; tag is the hash of its text, the first part of every key of that owner.
struct OwnerId {
  std::uint32_t id = 0;
  std::uint64_t tag = 0;
  friend bool operator==(const OwnerId&, const OwnerId&) = default;
};

class OwnerTable {
 public:
  static constexpr std::size_t kTextBytes = 96;

  static std::uint64_t footprint(std::uint32_t capacity) noexcept;
  static Result<void> format(Region& region, std::uint64_t offset, std::uint32_t capacity);
  OwnerTable(const Region& region, std::uint64_t offset) noexcept;

  // The id of `text`, made now if it is new; id 0 when the table is full. Takes the table's lock.
  OwnerId intern(std::string_view text) noexcept;

  // Makes all records of the owner absent. False for id 0 (the owners that share it cannot be told apart).
  bool reset(OwnerId owner) noexcept;

  // The epoch that a living record of `id` must carry. One relaxed load.
  std::uint32_t epoch(std::uint32_t id) const noexcept {
    return std::atomic_ref<std::uint32_t>(epochs_[id < capacity_ ? id : 0]).load(std::memory_order_relaxed);
  }

  // Text of an id, cut to kTextBytes; empty for 0 and for ids that do not exist.
  std::string_view text(std::uint32_t id) const noexcept;

  std::uint32_t size() const noexcept;
  std::uint64_t overflows() const noexcept;

 private:
  struct Head;
  struct Entry;

  void recover() noexcept;

  std::byte* base_;
  Head* head_;
  std::uint32_t* epochs_;
  std::uint32_t* buckets_;
  Entry* entries_;
  std::uint32_t capacity_;
  std::uint32_t bucket_mask_;
  Seed seed_;
};

// Key of a record: the owner and what the limit or score is about. Different owners never share a record.
inline Key make_key(const Seed& seed, OwnerId owner, std::string_view text) noexcept {
  return KeyHasher(seed).add(owner.tag).add(text).finish();
}

}  // namespace sluice::shm
