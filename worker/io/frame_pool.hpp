// FramePool: memory of coroutine frames and of other short-lived objects of the worker, from free lists.
//
// Sizes are rounded up to multiples of 64 octets; each class has a list of its own, per thread. A frame above the
// largest class goes to malloc. Nothing is given back before the process ends: the pool is as large as the worker's
// busiest moment was, which the connection limit bounds.
#pragma once

#include <cstddef>

namespace sluice::worker {

class FramePool {
 public:
  static void* allocate(std::size_t bytes) noexcept;
  static void release(void* p, std::size_t bytes) noexcept;
  static std::size_t fresh_blocks() noexcept;  // how often malloc was asked, for the tests of the steady path

 private:
  static constexpr std::size_t kStep = 64;
  static constexpr std::size_t kClasses = 128;  // up to 8 KiB
};

}  // namespace sluice::worker
