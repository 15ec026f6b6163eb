#include "worker/balancer/least_conn.hpp"

#include <algorithm>
#include <limits>

#include "plugins/sdk/request_context.hpp"

namespace sluice::balancer {

LeastConn::LeastConn(std::span<const Peer> peers, std::string owner, const shm::LeaseTable* table, int worker,
                     std::uint64_t seed, TimePoint now)
    : table_(worker >= 0 ? table : nullptr), worker_(static_cast<std::uint32_t>(worker)), owner_(std::move(owner)) {
  for (const Peer& peer : peers) {
    addresses_.push_back(peer.address);
    entries_.push_back({table_ ? table_->intern(owner_ + "|" + peer.address, now) : shm::SlotRef{}, peer.weight});
  }
  for (const Entry& entry : entries_) heaviest_ = std::max(heaviest_, entry.weight);
  start_ = peers.empty() ? 0 : Random(seed).below(static_cast<std::uint32_t>(peers.size()));
}

std::uint64_t LeastConn::in_flight(std::uint32_t node) const noexcept {
  const Entry& entry = entries_[node];
  return entry.local + (table_ ? table_->in_flight(entry.slot) : 0);
}

void LeastConn::acquire(std::uint32_t node, TimePoint now) noexcept {
  Entry& entry = entries_[node];
  bool leased = false;
  if (table_ != nullptr) {
    leased = table_->acquire(entry.slot, worker_, now);
    if (!leased && entry.leased == 0) {  // perhaps the slot was given to somebody else while nothing used it
      entry.slot = table_->intern(owner_ + "|" + addresses_[node], now);
      leased = table_->acquire(entry.slot, worker_, now);
    }
  }
  ++(leased ? entry.leased : entry.local);
}

std::uint32_t LeastConn::pick(Walk& walk) noexcept {
  const auto n = static_cast<std::uint32_t>(entries_.size());
  if (n == 0) return kNoPeer;
  start_ = start_ + 1 >= n ? 0 : start_ + 1;
  std::uint32_t best = kNoPeer;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::uint32_t k = 0, i = start_; k < n; ++k, i = i + 1 == n ? 0 : i + 1) {
    if (walk.tried.test(i)) continue;
    const double score = entries_[i].weight > 0 ? (1.0 + static_cast<double>(in_flight(i))) / entries_[i].weight
                                                : std::numeric_limits<double>::infinity();
    if (best != kNoPeer && score >= lowest) continue;
    best = i;
    lowest = score;
    if (lowest * heaviest_ <= 1.0) break;   // idle, and none is heavier: no other can be better
  }
  if (best != kNoPeer) acquire(best, walk.request.now);
  return best;
}

void LeastConn::settle(std::uint32_t node, const Outcome&, TimePoint) noexcept {
  Entry& entry = entries_[node];
  if (entry.leased > 0) {
    --entry.leased;
    table_->release(entry.slot, worker_);
  } else if (entry.local > 0) {
    --entry.local;
  }
}

}  // namespace sluice::balancer
