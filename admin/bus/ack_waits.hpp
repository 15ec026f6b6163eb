// AckWaits: when may a write be answered?
//
// A write is in force when every live worker has acknowledged its batch. Live are the workers of the current
// generation that accept connections (the shared worker table says so) or are connected to the bus. The wait is bounded:
// at its deadline the write is answered all the same, and whoever had not acknowledged is *lagging*: later writes do
// not wait for it until its acknowledgements come in time again. Many writes wait at once; they end in order.
// Plain data, time is an argument.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "conf/base/clock.hpp"

namespace sluice::admin {

struct LiveWorker {
  std::uint32_t slot = 0;
  std::uint32_t pid = 0;
  friend auto operator<=>(const LiveWorker&, const LiveWorker&) = default;
};

struct Applied {
  unsigned applied = 0;  // live workers that have it in force
  unsigned workers = 0;  // live workers
};
using OnApplied = std::function<void(Applied)>;

class AckWaits {
 public:
  // Live workers and the sequence each has acknowledged in this epoch; 0: nothing yet, or not connected.
  using Workers = std::map<LiveWorker, std::uint64_t>;

  void add(std::uint64_t sequence, TimePoint deadline, OnApplied done);

  // Answers what can be answered. Callbacks run after the books are in order: they may add() again.
  void settle(const Workers& workers, TimePoint now);

  // A worker's acknowledgements come in time again.
  void caught_up(const LiveWorker& worker) { lagging_.erase(worker); }
  bool lagging(const LiveWorker& worker) const { return lagging_.contains(worker); }

  bool empty() const noexcept { return waits_.empty(); }
  TimePoint next_deadline() const noexcept { return waits_.front().deadline; }  // REQUIRES: !empty()

 private:
  struct Wait {
    std::uint64_t sequence;
    TimePoint deadline;
    OnApplied done;
  };
  std::deque<Wait> waits_;
  std::set<LiveWorker> lagging_;
};

}  // namespace sluice::admin
