// EWMA: power of two choices by an exponentially weighted mean of answer times, shared by all workers per address.
//
// Each address has a record {score, last update} in shared memory, read without a lock. With w = exp(-age / 10 s) an answer
// that took rtt gives score = score * w + rtt * (1 - w); the score of a node now is score * w. A record that nobody has
// updated for 60 s counts as unknown. Of two different nodes drawn at random among those not yet tried the one with the
// lower score now is taken, the first on a tie. Weights play no part.
//
// A node that nothing is known of stands at the mean of its peers: it is neither flooded nor starved. A failed attempt is
// written as max(elapsed, 10 s, 10 times the peers' median), with a minus sign: it holds undiminished for 10 s, then ages
// like any other score, and is forgotten after 60 s or with the first success past the hold. So a dead node is asked about
// once a minute by whoever comes first, and a failure never improves a score.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shm/slot_table.hpp"
#include "worker/balancer/picker.hpp"
#include "worker/balancer/random.hpp"

namespace sluice::balancer {

// The record's arithmetic, apart from where it is kept.
namespace ewma {
inline constexpr double kDecaySeconds = 10;
inline constexpr std::int64_t kForgetNs = 60'000'000'000;
inline constexpr std::int64_t kHoldNs = 10'000'000'000;
inline constexpr double kUnknown = -1;

bool failed(const shm::EwmaScore& record) noexcept;
// Seconds, or kUnknown.
double score_at(const shm::EwmaScore& record, std::int64_t now_ns) noexcept;
// fresh: the record was never written.
void add_success(shm::EwmaScore& record, bool fresh, double seconds, std::int64_t now_ns) noexcept;
// An answer that was an error: counts as a success that may not lower the score.
void add_bad_answer(shm::EwmaScore& record, bool fresh, double seconds, double floor, std::int64_t now_ns) noexcept;
void add_failure(shm::EwmaScore& record, bool fresh, double seconds, double median, std::int64_t now_ns) noexcept;
}  // namespace ewma

class Ewma final : public Picker {
 public:
  // table nullptr: scores are kept in this picker alone.
  Ewma(std::span<const Peer> peers, const shm::EwmaTable* table, std::uint64_t seed, TimePoint now);

  std::uint32_t pick(Walk& walk) noexcept override;
  void settle(std::uint32_t node, const Outcome& outcome, TimePoint now) noexcept override;
  double score_for_test(std::uint32_t node, TimePoint now) noexcept { return known_score(node, to_ns(now)); }

 private:
  static constexpr std::uint32_t kSample = 64;
  double known_score(std::uint32_t node, std::int64_t now_ns) const noexcept;
  double score(std::uint32_t node, std::int64_t now_ns) noexcept;
  double mean_of_peers(std::int64_t now_ns) noexcept;
  double median_of_peers(std::uint32_t except, std::int64_t now_ns) noexcept;
  bool read(std::uint32_t node, shm::EwmaScore& record) const noexcept;
  template <class F>
  void update(std::uint32_t node, TimePoint now, F&& fn) noexcept;
  std::uint32_t draw(const TriedSet& tried, std::uint32_t except) noexcept;

  const shm::EwmaTable* table_;
  std::vector<std::string> addresses_;
  std::vector<shm::SlotRef> slots_;
  struct Local {
    shm::EwmaScore record;
    bool written = false;
  };
  std::vector<Local> local_;            // without a table
  Random random_;
  double mean_ = 0;
  std::int64_t mean_at_ns_ = 0;         // when mean_ was taken; 0: never
};

}  // namespace sluice::balancer
