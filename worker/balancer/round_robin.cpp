#include "worker/balancer/round_robin.hpp"

#include <algorithm>
#include <numeric>

namespace sluice::balancer {

RoundRobin::RoundRobin(std::span<const Peer> peers, std::uint64_t seed) {
  weights_.reserve(peers.size());
  for (const Peer& peer : peers) weights_.push_back(peer.weight);
  std::uint32_t gcd = 0;
  for (const std::uint32_t w : weights_) gcd = std::gcd(gcd, w);
  if (gcd == 0) {
    gcd = 1;
    std::fill(weights_.begin(), weights_.end(), 1);
  }
  gcd_ = gcd;
  largest_ = weights_.empty() ? 1 : *std::max_element(weights_.begin(), weights_.end());
  choosable_ = static_cast<std::uint32_t>(std::count_if(weights_.begin(), weights_.end(), [](auto w) { return w > 0; }));
  Random random(seed);
  last_ = weights_.empty() ? 0 : random.below(static_cast<std::uint32_t>(weights_.size()));
  level_ = largest_;
}

// Two walks at most: on the highest level somebody is always heavy enough.
std::uint32_t RoundRobin::step() noexcept {
  const auto n = static_cast<std::uint32_t>(weights_.size());
  std::uint32_t i = last_ + 1;
  while (true) {
    for (; i < n; ++i)
      if (weights_[i] >= level_) return last_ = i;
    i = 0;
    level_ = level_ > gcd_ ? level_ - gcd_ : largest_;
  }
}

std::uint32_t RoundRobin::pick(Walk& walk) noexcept {
  if (weights_.empty() || walk.tried.count() >= choosable_) return kNoPeer;
  const std::size_t patience = 4 * weights_.size() + 64;
  for (std::size_t i = 0; i < patience; ++i)
    if (const std::uint32_t node = step(); !walk.tried.test(node)) return node;
  const auto n = static_cast<std::uint32_t>(weights_.size());
  for (std::uint32_t i = 1; i <= n; ++i) {
    const std::uint32_t node = (last_ + i) % n;
    if (weights_[node] > 0 && !walk.tried.test(node)) return last_ = node;
  }
  return kNoPeer;
}

}  // namespace sluice::balancer
