// The lease ledger. See ledger.hpp for the idea; the words of a lease are described at DictCore::Lease.
#include "shm/ledger.hpp"

namespace sluice::shm {
namespace {

using Section = DictCore::Section;
using Lease = DictCore::Lease;
using Slot = DictCore::Slot;

std::uint32_t slot_of(const Lease& l) noexcept { return low_half(l.slot_count); }
std::uint32_t count_of(const Lease& l) noexcept { return high_half(l.slot_count); }
std::uint32_t next_of(const Lease& l) noexcept { return low_half(l.next_worker); }
std::uint32_t worker_of(const Lease& l) noexcept { return high_half(l.next_worker); }

}  // namespace

std::uint32_t Ledger::find_locked(const Section& s, std::uint32_t slot, std::uint32_t worker) const noexcept {
  // One lease per worker that has the record in flight: the walk is as long as there are such workers.
  std::uint32_t i = low_half(s.slot(slot).value[1]);
  while (i != 0 && worker_of(core_.lease(s.number(), i)) != worker) i = next_of(core_.lease(s.number(), i));
  return i;
}

bool Ledger::add_locked(const Section& s, std::uint32_t slot, std::uint32_t worker) const noexcept {
  if (worker >= core_.worker_slots()) return false;
  Slot& r = s.slot(slot);
  DictCore::Shard& shard = s.shard();
  const std::uint32_t n = s.number();
  const std::uint32_t found = find_locked(s, slot, worker);
  const std::uint32_t unused = low_half(shard.lease_free);
  const std::uint32_t high = high_half(shard.lease_free);
  if (found == 0 && unused == 0 && high >= high_half(shard.backed)) return false;

  Transaction tx = s.begin();
  if (lock_free_reads_) tx.open_seq(r.seq);
  if (found != 0) {
    Lease& l = core_.lease(n, found);
    tx.set(l.slot_count, with_high(l.slot_count, count_of(l) + 1));
  } else {
    const std::uint32_t i = unused != 0 ? unused : high + 1;
    Lease& l = core_.lease(n, i);
    std::uint32_t& head = core_.worker_head(n, worker);
    tx.set(shard.lease_free, unused != 0 ? with_low(shard.lease_free, next_of(l)) : with_high(shard.lease_free, i));
    tx.set(l.slot_count, pack(slot, 1));
    tx.set(l.next_worker, pack(low_half(r.value[1]), worker));
    tx.set(l.links, pack(0, head));
    if (head != 0) tx.set(core_.lease(n, head).links, with_low(core_.lease(n, head).links, i));
    tx.set_half(head, i);
    tx.set(r.value[1], i);
  }
  if (r.value[0] == 0 && evictable_) {
    core_.lru_unlink_locked(s, tx, slot);
    tx.set(shard.counts, with_high(shard.counts, high_half(shard.counts) + 1));
  }
  tx.set(r.value[0], r.value[0] + 1);
  tx.commit();
  return true;
}

// Takes a lease out of both chains and gives it back.
void Ledger::unhook_locked(const Section& s, Transaction& tx, std::uint32_t slot, std::uint32_t lease) const noexcept {
  const std::uint32_t n = s.number();
  Slot& r = s.slot(slot);
  Lease& l = core_.lease(n, lease);
  if (low_half(r.value[1]) == lease) {
    tx.set(r.value[1], next_of(l));
  } else {
    std::uint32_t before = low_half(r.value[1]);
    while (next_of(core_.lease(n, before)) != lease) before = next_of(core_.lease(n, before));
    Lease& b = core_.lease(n, before);
    tx.set(b.next_worker, with_low(b.next_worker, next_of(l)));
  }
  const std::uint32_t previous = low_half(l.links), next = high_half(l.links);
  if (previous != 0)
    tx.set(core_.lease(n, previous).links, with_high(core_.lease(n, previous).links, next));
  else
    tx.set_half(core_.worker_head(n, worker_of(l)), next);
  if (next != 0) tx.set(core_.lease(n, next).links, with_low(core_.lease(n, next).links, previous));
  tx.set(l.next_worker, pack(low_half(s.shard().lease_free), 0));
  tx.set(l.slot_count, 0);
  tx.set(s.shard().lease_free, with_low(s.shard().lease_free, lease));
}

// Takes `amount` off a lease and its record's total.
void Ledger::settle_locked(const Section& s, std::uint32_t slot, std::uint32_t lease,
                           std::uint32_t amount) const noexcept {
  Slot& r = s.slot(slot);
  Lease& l = core_.lease(s.number(), lease);
  Transaction tx = s.begin();
  if (lock_free_reads_) tx.open_seq(r.seq);
  const std::uint32_t left = count_of(l) - amount;
  if (left == 0)
    unhook_locked(s, tx, slot, lease);
  else
    tx.set(l.slot_count, with_high(l.slot_count, left));
  tx.set(r.value[0], r.value[0] - amount);
  if (r.value[0] == 0 && evictable_) {
    core_.lru_push_locked(s, tx, slot);
    tx.set(s.shard().counts, with_high(s.shard().counts, high_half(s.shard().counts) - 1));
  }
  tx.commit();
}

bool Ledger::drop_locked(const Section& s, std::uint32_t slot, std::uint32_t worker) const noexcept {
  const std::uint32_t lease = find_locked(s, slot, worker);
  if (lease == 0) return false;
  settle_locked(s, slot, lease, 1);
  return true;
}

std::uint64_t Ledger::replay_dead(std::uint32_t worker) const noexcept {
  std::uint64_t returned = 0;
  if (worker >= core_.worker_slots()) return 0;
  for (std::uint32_t n = 0; n < core_.shards(); ++n) {
    bool more = true;
    while (more) {
      Section s(core_, n);  // let go every kMaxPerHold leases: the living are waiting
      for (std::uint32_t k = 0; k < DictCore::kMaxPerHold; ++k) {
        const std::uint32_t lease = core_.worker_head(n, worker);
        if (lease == 0) break;
        const Lease& l = core_.lease(n, lease);
        const std::uint32_t amount = count_of(l);
        settle_locked(s, slot_of(l), lease, amount);
        returned += amount;
      }
      more = core_.worker_head(n, worker) != 0;
    }
  }
  return returned;
}

}  // namespace sluice::shm
