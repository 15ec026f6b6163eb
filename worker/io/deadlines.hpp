// Deadlines: a wheel of 100 ms slots over fibers.
//
// A fiber hangs in the slot of some deadline it once had; when the slot comes up, its present deadline is looked at: due
// fires, later moves on. So prolonging a deadline, the common case, costs one store; only an earlier one relinks. A
// deadline fires at most one tick late, never early.
#pragma once

#include <array>
#include <cstdint>

#include "conf/base/clock.hpp"

namespace sluice::worker {

class Fiber;

class Deadlines {
 public:
  static constexpr std::int64_t kTickNs = 100'000'000;
  static constexpr std::int64_t kSlots = 1024;

  explicit Deadlines(TimePoint start) noexcept : tick_(to_ns(start) / kTickNs) {}

  void place(Fiber& fiber) noexcept;   // by its deadline; REQUIRES: it has one
  void remove(Fiber& fiber) noexcept;  // of any slot
  void sweep(TimePoint now) noexcept;  // fires what is due

 private:
  struct Slot {
    Fiber* first = nullptr;
  };
  void link(Fiber& fiber, std::int64_t tick) noexcept;
  void unlink(Fiber& fiber) noexcept;
  std::array<Slot, kSlots> slots_{};
  std::int64_t tick_;  // the last tick that was swept
};

}  // namespace sluice::worker
