// Reading a record without its lock: copy the words between two looks at the record's sequence word.
//
// The writer holds the shard's lock, makes the sequence odd, writes, makes it even (Transaction::open_seq). A copy
// counts only when the sequence was even and the same on both sides; the key of the record is copied under the same
// sequence, so a slot that changed hands is noticed too. Words are relaxed atomics: a torn copy is thrown away, not
// undefined.
//
// A reader never waits for a writer: after kSeqTries it gives up. A writer that died mid-way leaves the sequence odd
// until the next holder of the lock has rolled it back (journal.hpp); readers then take the lock or do without.
#pragma once

#include <atomic>
#include <cstdint>

#include "shm/word.hpp"

namespace sluice::shm {

inline constexpr int kSeqTries = 16;

inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Runs copy() (which may only use load_word on shared memory) until it was not overlapped by a writer.
// False after kSeqTries: what copy() wrote is then worthless.
template <class Copy>
inline bool seq_read(const Word& seq, Copy&& copy) noexcept {
  std::atomic_ref<Word> sequence(const_cast<Word&>(seq));
  for (int i = 0; i < kSeqTries; ++i) {
    const Word before = sequence.load(std::memory_order_acquire);
    if ((before & 1) == 0) {
      copy();
      acquire_fence();
      if (sequence.load(std::memory_order_relaxed) == before) return true;
    }
    cpu_pause();
  }
  return false;
}

}  // namespace sluice::shm
