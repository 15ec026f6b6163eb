// A mutex in shared memory whose owner may die.
//
// pthread, process-shared, robust: when the owner dies the kernel marks the word and the next lock() learns of it,
// calls the caller's recovery and declares the mutex consistent. If that process dies during recovery, the next one
// starts over; so recovery must be idempotent. One cache line of its own: two locks never share one.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <cstdint>

#include "shm/word.hpp"

namespace sluice::shm {

class alignas(kCacheLine) RobustMutex {
 public:
  // REQUIRES: once, by the process that formats the memory, before anybody else can see it.
  void init() noexcept;

  // Blocks until owned. `recover()` (noexcept, idempotent, bounded) runs first when the previous owner died inside.
  template <class Recover>
  void lock(Recover&& recover) noexcept {
#ifndef SLUICE_MUTATION_NO_SHARD_LOCK
    int rc = ::pthread_mutex_trylock(&mutex_);
    if (rc != 0) [[unlikely]] {
      if (rc == EBUSY) rc = wait();
      if (rc == EOWNERDEAD) {
        recover();
        consistent();
      } else if (rc != 0) {
        broken(rc);
      }
    }
#else
    (void)recover;
#endif
  }

  void unlock() noexcept {
#ifndef SLUICE_MUTATION_NO_SHARD_LOCK
    ::pthread_mutex_unlock(&mutex_);
#endif
  }

  std::uint64_t waits() const noexcept { return load_word(waits_); }
  std::uint64_t recoveries() const noexcept { return load_word(recoveries_); }

 private:
  int wait() noexcept;
  void consistent() noexcept;
  [[noreturn]] static void broken(int rc) noexcept;

  pthread_mutex_t mutex_;
  std::uint64_t waits_;       // guarded by mutex_: how often lock() found it taken
  std::uint64_t recoveries_;  // guarded by mutex_: how many owners died inside
};
static_assert(sizeof(RobustMutex) == kCacheLine);

// Scope of ownership.
class Guard {
 public:
  template <class Recover>
  Guard(RobustMutex& mutex, Recover&& recover) noexcept : mutex_(mutex) {
    mutex_.lock(recover);
  }
  ~Guard() { mutex_.unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  RobustMutex& mutex_;
};

}  // namespace sluice::shm
