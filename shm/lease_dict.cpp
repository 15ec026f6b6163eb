// LeaseDict: the parts that need no template. See lease_dict.hpp.
#include "shm/lease_dict.hpp"

namespace sluice::shm {

LeaseHandle LeaseDict::acquire_locked(const DictCore::Section& s, std::uint32_t slot, const Key& key, OwnerId owner,
                                      std::string_view text, std::uint32_t worker, TimePoint now,
                                      std::uint64_t limit) noexcept {
  const LeaseHandle uncounted{key, s.number(), 0};
  add_word(slot != 0 ? s.shard().hits : s.shard().misses, 1);
  if (slot == 0) {
    // An empty record first, then the unit: a death in between leaves a record without work, which is evictable.
    DictCore::Fresh fresh{key, owner, text, {}, {}};
    fresh.meta.limit = limit;
    slot = core_->insert_locked(s, fresh, now);
    if (slot == 0) return uncounted;
  } else {
    store_word(s.slot(slot).limit, limit);
  }
  if (!ledger().add_locked(s, slot, worker)) {
    add_word(s.shard().refused, 1);
    return uncounted;
  }
  return LeaseHandle{key, s.number(), slot};
}

void LeaseDict::release(const LeaseHandle& lease, std::uint32_t worker) noexcept {
  if (lease.slot == 0) return;
  DictCore::Section s(*core_, lease.shard);
  // A record in flight keeps its slot, so this can only differ after its shard was cleared.
  const DictCore::Slot& r = s.slot(lease.slot);
  if (r.hi != lease.key.hi || r.lo != lease.key.lo || (high_half(r.chain) & DictCore::kLive) == 0) return;
  ledger().drop_locked(s, lease.slot, worker);
}

std::uint64_t LeaseDict::in_flight(const Key& key) const noexcept {
  DictCore::Section s(*core_, key);
  const std::uint32_t slot = core_->find_locked(s, key);
  return slot != 0 ? s.slot(slot).value[0] : 0;
}

}  // namespace sluice::shm
