// Draws from the process's generator.
#pragma once

#include <cstdint>

#include "plugins/sdk/request_context.hpp"

namespace sluice::sdk {

// Uniform in [0, n). REQUIRES: n > 0. Multiply-shift: the bias is below n / 2^64.
inline std::uint64_t random_below(std::uint64_t n) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(random_u64()) * n >> 64);
}

// True for about `percent` of 100 draws: never for 0, always for 100.
inline bool happens(int percent) noexcept { return static_cast<int>(random_below(100)) < percent; }

}  // namespace sluice::sdk
