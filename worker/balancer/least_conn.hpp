// Least connections: the node with the lowest (1 + requests in flight) / weight.
//
// Requests in flight are counted over all workers, in shared memory through the lease ledger: exact when a worker dies, and
// kept when the configuration or the set of nodes changes, because a count belongs to (upstream, priority group, address).
// Ties are broken by a place in the list that moves on, so that workers do not all begin with the first node. A node of
// weight 0 is taken only when nothing else is left.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shm/slot_table.hpp"
#include "worker/balancer/picker.hpp"
#include "worker/balancer/random.hpp"

namespace sluice::balancer {

class LeastConn final : public Picker {
 public:
  // owner: "<upstream key>|<priority>". table nullptr or worker < 0: counts are kept in this picker alone.
  LeastConn(std::span<const Peer> peers, std::string owner, const shm::LeaseTable* table, int worker, std::uint64_t seed,
            TimePoint now);

  std::uint32_t pick(Walk& walk) noexcept override;
  void settle(std::uint32_t node, const Outcome& outcome, TimePoint now) noexcept override;
  std::uint64_t in_flight(std::uint32_t node) const noexcept;

 private:
  void acquire(std::uint32_t node, TimePoint now) noexcept;

  struct Entry {
    shm::SlotRef slot;
    std::uint32_t weight;
    std::uint32_t local = 0;   // in flight without a lease: no table, or no room in it
    std::uint32_t leased = 0;  // in flight with a lease, of this picker
  };
  const shm::LeaseTable* table_;
  std::uint32_t worker_;
  std::string owner_;
  std::vector<std::string> addresses_;
  std::vector<Entry> entries_;
  std::uint32_t start_;
  std::uint32_t heaviest_ = 0;   // weight
};

}  // namespace sluice::balancer
