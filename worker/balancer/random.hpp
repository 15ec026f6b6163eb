// A small random generator for choices that need no secrecy: xorshift64*, one per picker.
#pragma once

#include <cstdint>
#include <random>

namespace sluice::balancer {

class Random {
 public:
  // seed 0: from the system.
  explicit Random(std::uint64_t seed) : state_(seed) {
    while (state_ == 0) state_ = (static_cast<std::uint64_t>(std::random_device{}()) << 32) | std::random_device{}();
  }
  std::uint64_t next() noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  // 0 … n-1; n > 0.
  std::uint32_t below(std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace sluice::balancer
