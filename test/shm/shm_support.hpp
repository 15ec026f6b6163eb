// What the tests of shared memory have in common: a small table in a region of its own, children that do one thing and
// end, children that are killed at a given step of a critical section, and an audit of a table's structure.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "shm/catalog.hpp"
#include "shm/dict_core.hpp"
#include "shm/fault.hpp"

namespace sluice::shm::test {

inline TimePoint at_ms(std::int64_t ms) { return TimePoint(milliseconds(ms)); }

// Shape of a table that holds exactly `records` (in all shards together).
inline DictShape shape_for(std::uint32_t records, std::uint32_t value_words, std::uint32_t shards = 1) {
  DictShape shape;
  shape.value_words = value_words;
  shape.shards = shards;
  const std::uint64_t stride = align_up(64 + value_words * 8 + DictCore::kMinTextBytes, kCacheLine);
  shape.bytes = records * (stride + 8);
  return shape;
}
inline DictShape leased_shape_for(std::uint32_t records, std::uint32_t worker_slots, std::uint32_t shards = 1) {
  DictShape shape = shape_for(records, 2, shards);
  shape.leases = true;
  shape.worker_slots = worker_slots;
  shape.bytes = records * (128 + 8 + sizeof(DictCore::Lease));
  return shape;
}

// A region with owners and one table.
struct Table {
  static constexpr std::uint32_t kOwners = 64;

  explicit Table(const DictShape& shape, bool with_owners = true)
      : region(Region::create("test", 2 * kPage + OwnerTable::footprint(kOwners) + DictCore::footprint(shape)).value()),
        owners_at(region.carve(OwnerTable::footprint(kOwners)).value()),
        core_at(region.carve(DictCore::footprint(shape)).value()),
        owners((OwnerTable::format(region, owners_at, kOwners).value(), region), owners_at),
        core((DictCore::format(region, core_at, shape).value(), region), core_at, with_owners ? &owners : nullptr) {}

  Region region;
  std::uint64_t owners_at, core_at;
  OwnerTable owners;
  DictCore core;
};

// Runs `body` in a child that then ends with 0; its wait status.
template <class F>
int in_child(F&& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

template <class F>
pid_t start_child(F&& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  return pid;
}

inline int wait_for(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

// Kills a child at step `step` of what it does in shared memory. True when it died; false when it got through.
template <class F>
bool die_at(std::int64_t step, F&& body) {
  const int status = in_child([&] {
    steps_to_death_for_test = step;
    body();
    steps_to_death_for_test = 0;
  });
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

// For every step of `body`: a child dies there, then check(step) looks at what it left. Returns the number of steps.
template <class Prepare, class Body, class Check>
std::int64_t at_every_step(Prepare&& prepare, Body&& body, Check&& check) {
  for (std::int64_t step = 1;; ++step) {
    REQUIRE(step < 10000);
    prepare();
    if (!die_at(step, body)) return step - 1;
    check(step);
  }
}

// Every link of every shard: lists in both directions, index, counts, ledger against totals. Empty = sound.
inline std::string audit(const DictCore& core, bool leased = false) {
  for (std::uint32_t n = 0; n < core.shards(); ++n) {
    DictCore::Section s(core, n);
    const DictCore::Shard& sh = s.shard();
    if (sh.journal.count != 0 || sh.journal.open_seq != 0) return "journal is armed";
    const std::uint32_t used = high_half(sh.free);
    std::set<std::uint32_t> live, in_lru, unused;
    for (std::uint32_t i = 1; i <= used; ++i) {
      const DictCore::Slot& r = s.slot(i);
      if ((high_half(r.chain) & DictCore::kLive) == 0) continue;
      live.insert(i);
      if (core.find_locked(s, Key{r.hi, r.lo}) != i) return "a live slot is not found by its key";
      if ((r.seq & 1) != 0) return "an open sequence is left";
    }
    if (live.size() != low_half(sh.counts)) return "entries do not match the live slots";
    std::uint32_t before = 0;
    for (std::uint32_t i = low_half(sh.lru); i != 0; i = high_half(s.slot(i).lru)) {
      if (!in_lru.insert(i).second) return "the LRU chain has a loop";
      if (!live.contains(i)) return "the LRU chain holds a dead slot";
      if (low_half(s.slot(i).lru) != before) return "the LRU chain does not lead back";
      before = i;
    }
    if (high_half(sh.lru) != before) return "the LRU tail is wrong";
    if (live.size() - in_lru.size() != high_half(sh.counts)) return "pinned does not match the chain";
    for (std::uint32_t i = low_half(sh.free); i != 0; i = low_half(s.slot(i).chain)) {
      if (live.contains(i)) return "a live slot is in the free list";
      if (!unused.insert(i).second) return "the free list has a loop";
    }
    if (live.size() + unused.size() != used) return "slots are lost";
    if (!leased) continue;

    std::set<std::uint32_t> leases, free_leases;
    for (std::uint32_t i : live) {
      const DictCore::Slot& r = s.slot(i);
      std::uint64_t sum = 0;
      for (std::uint32_t l = low_half(r.value[1]); l != 0; l = low_half(core.lease(n, l).next_worker)) {
        if (!leases.insert(l).second) return "a lease hangs twice";
        if (low_half(core.lease(n, l).slot_count) != i) return "a lease names another record";
        sum += high_half(core.lease(n, l).slot_count);
      }
      if (sum != r.value[0]) return "total is not the sum of its leases";
    }
    std::size_t in_workers = 0;
    for (std::uint32_t w = 0; w < core.worker_slots(); ++w) {
      std::uint32_t previous = 0;
      for (std::uint32_t l = core.worker_head(n, w); l != 0; l = high_half(core.lease(n, l).links)) {
        if (!leases.contains(l)) return "a worker holds a lease of no record";
        if (low_half(core.lease(n, l).links) != previous) return "a worker's chain does not lead back";
        previous = l;
        ++in_workers;
      }
    }
    if (in_workers != leases.size()) return "a lease hangs in no worker";
    for (std::uint32_t l = low_half(sh.lease_free); l != 0; l = low_half(core.lease(n, l).next_worker))
      if (!free_leases.insert(l).second) return "the free leases have a loop";
    if (leases.size() + free_leases.size() != high_half(sh.lease_free)) return "leases are lost";
  }
  return {};
}

}  // namespace sluice::shm::test
