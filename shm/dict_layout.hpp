// How a table lies in its region: the header that format() writes and every process reads once. Private to DictCore.
#pragma once

#include "shm/dict_core.hpp"

namespace sluice::shm {

struct DictCore::Head {
  std::uint64_t bytes;  // present size, as configured
  std::uint64_t shard_stride;
  std::uint64_t buckets_at, leases_at, slots_at;  // from the shard's start; leases and slots begin pages
  std::uint32_t buckets;                          // per shard, power of two
  std::uint32_t shards;
  std::uint32_t stride;  // of a slot
  std::uint32_t value_words, text_bytes;
  std::uint32_t slots;      // per shard, at the first size
  std::uint32_t slots_max;  // per shard, reserved
  std::uint32_t worker_slots;
  std::uint32_t leased;
};

}  // namespace sluice::shm
