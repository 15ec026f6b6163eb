// What a dictionary tells about itself: for inspection, /metrics and the once-a-minute warning that it is full.
#pragma once

#include <cstdint>

namespace sluice::shm {

struct Stats {
  std::uint64_t bytes = 0;      // of memory behind it
  std::uint64_t capacity = 0;   // records that it may hold
  std::uint64_t entries = 0;    // records that it holds, expired ones included
  std::uint64_t pinned = 0;     // of these, how many cannot be evicted now
  std::uint64_t hits = 0;       // updates that found a living record
  std::uint64_t misses = 0;     // updates that did not
  std::uint64_t evictions = 0;  // living records dropped to make room
  std::uint64_t expired = 0;    // dead records dropped or started afresh
  std::uint64_t refused = 0;    // nothing could be evicted: the documented admission policy was applied
  std::uint64_t lock_waits = 0;
  std::uint64_t recoveries = 0;  // owners of a shard's lock that died inside
  std::uint64_t cleared = 0;     // shards emptied because their check failed after a roll-back
};

}  // namespace sluice::shm
