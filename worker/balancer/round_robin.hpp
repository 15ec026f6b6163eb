// Weighted round robin, interleaved by the greatest common divisor of the weights.
//
// The idea: `level` goes down from the largest weight to zero in steps of the gcd and starts again; on each level the list
// is walked once and every node whose weight reaches the level gets a request. Over one cycle each node gets
// weight / gcd requests, heavy ones first. The walk begins at a random node, so that workers (and the successors of a
// changed configuration) do not all begin with the first.
//
// A node of weight 0 gets nothing unless all are 0 or it is alone. A retry goes on with the walk to the next node not yet
// tried; when that takes more than a bounded number of steps (very unequal weights) it takes the next in the list.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "worker/balancer/picker.hpp"
#include "worker/balancer/random.hpp"

namespace sluice::balancer {

class RoundRobin final : public Picker {
 public:
  RoundRobin(std::span<const Peer> peers, std::uint64_t seed);
  std::uint32_t pick(Walk& walk) noexcept override;

 private:
  std::uint32_t step() noexcept;

  std::vector<std::uint32_t> weights_;
  std::uint32_t choosable_ = 0;   // nodes that step() can return
  std::uint32_t gcd_ = 1, largest_ = 1;
  std::uint32_t last_;
  std::uint32_t level_;
};

}  // namespace sluice::balancer
