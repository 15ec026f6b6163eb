// The series of a process, by the hash of what makes up their labels: the log phase finds six series in one look-up.
//
// Bounded: past kMaxEntries everything is forgotten and found again in the shared catalogue, which has a bound of its own.
// One thread. Hashes are keyed with the region's seed and 128 bits wide, so keys are not kept.
#pragma once

#include <unordered_map>

#include "shm/cells.hpp"
#include "shm/hash.hpp"

namespace sluice::plugins::prometheus {

// The series that one request bumps.
struct RequestSeries {
  shm::Series status;
  shm::Series latency_request, latency_apisix;
  shm::Series latency_upstream;   // of requests for which a node was tried; the key tells them from the others
  shm::Series ingress, egress;
};

class SeriesCache {
 public:
  static constexpr std::size_t kMaxEntries = 1u << 15;

  // nullptr: not there.
  const RequestSeries* find(const shm::Key& key) const noexcept {
    const auto at = entries_.find(key);
    return at == entries_.end() ? nullptr : &at->second;
  }
  // Does nothing when there is no memory for it.
  void add(const shm::Key& key, const RequestSeries& series) noexcept;
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Low {
    std::size_t operator()(const shm::Key& key) const noexcept { return static_cast<std::size_t>(key.lo); }
  };
  std::unordered_map<shm::Key, RequestSeries, Low> entries_;
};

}  // namespace sluice::plugins::prometheus
