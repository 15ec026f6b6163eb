// Death on demand: the hook by which tests kill a process at every step of a critical section.
//
// A test forks a child, arms the countdown and lets it update; the child is SIGKILLed at the Nth step (before, between
// and after the stores of the journal). Never armed outside tests: one predictable branch on a process-local word.
#pragma once

#include <cstdint>

namespace sluice::shm {

// Steps until this process kills itself; 0 = never. Process-local, set by tests only.
inline std::int64_t steps_to_death_for_test = 0;

// SIGKILL to this very process.
[[noreturn]] void die_for_test() noexcept;

inline void step_for_test() noexcept {
  if (steps_to_death_for_test != 0) [[unlikely]] {
    if (--steps_to_death_for_test == 0) die_for_test();
  }
}

}  // namespace sluice::shm
