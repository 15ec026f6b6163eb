// TimerHeap: exact wake-ups (pauses of limiters, injected delays). A binary heap over fibers; the reactor arms one
// timerfd for its top. O(log n) to add and to take out, no allocation once grown.
#pragma once

#include <cstdint>
#include <vector>

#include "conf/base/clock.hpp"

namespace sluice::worker {

class Fiber;

class TimerHeap {
 public:
  void add(Fiber& fiber, TimePoint when) noexcept;  // REQUIRES: it has no timer
  void remove(Fiber& fiber) noexcept;               // no effect without one
  void fire_due(TimePoint now) noexcept;
  bool empty() const noexcept { return heap_.empty(); }
  std::int64_t next_ns() const noexcept;            // 0: none
  std::size_t size() const noexcept { return heap_.size(); }

 private:
  void up(std::uint32_t i) noexcept;
  void down(std::uint32_t i) noexcept;
  void put(std::uint32_t i, Fiber* fiber) noexcept;
  std::vector<Fiber*> heap_;
};

}  // namespace sluice::worker
