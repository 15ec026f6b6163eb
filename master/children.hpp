// Children: forking them, what they become, and when they may be forked again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "conf/base/clock.hpp"

namespace sluice::master {

// What a child needs to settle into, decided by the master.
struct ChildPlan {
  std::string title;              // "sluice: worker 0"
  std::string role;               // "worker 0", for the error log
  int cpu = -1;                   // -1: not pinned
  std::function<void()> before_drop;                // while the rights are still there
  std::function<bool(std::string& error)> drop;     // gives them up
  std::function<int()> body;      // returns the exit code
};

// Forks; in the child: default signal handling, title, pinning, rights, death signal, then body. Never returns there.
// Returns the pid, or -1 with errno set.
pid_t fork_child(const ChildPlan& plan);

// When a child that died may come back. One death brings it back at once; one that dies again within kSettled of its
// start waits, twice as long each time. Time is an argument.
class Backoff {
 public:
  static constexpr auto kSettled = std::chrono::seconds(5);
  static constexpr auto kFirst = std::chrono::milliseconds(100);
  static constexpr auto kMost = std::chrono::seconds(10);

  // Returns how long to wait before the next start.
  nanoseconds died(TimePoint started, TimePoint now) noexcept;
  unsigned quick_deaths() const noexcept { return quick_; }

 private:
  unsigned quick_ = 0;
};

// "exit status 3", "signal 11 (Segmentation fault)".
std::string describe_exit(int wait_status);

}  // namespace sluice::master
