// TriedSet: which nodes of a group a request has tried. In place up to 128 nodes, beyond that in the request's arena.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "plugins/sdk/arena.hpp"

namespace sluice::balancer {

class TriedSet {
 public:
  // Forgets everything; room for `size` nodes.
  void prepare(std::uint32_t size, sdk::Arena& arena) noexcept {
    const std::uint32_t words = (size + 63) / 64;
    if (words > words_) {
      words_ = words;
      far_ = static_cast<std::uint64_t*>(arena.allocate(words * sizeof(std::uint64_t), alignof(std::uint64_t)));
    }
    count_ = 0;
    std::memset(data(), 0, words_ * sizeof(std::uint64_t));
  }
  // For a state that will be used by another request: the arena's memory is gone.
  void reset() noexcept {
    far_ = nullptr;
    words_ = kNear;
    count_ = 0;
    near_ = {};
  }

  bool test(std::uint32_t i) const noexcept {
#ifdef SLUICE_MUTATION_NO_TRIED_FILTER
    static_cast<void>(i);
    return false;
#else
    return (data()[i / 64] >> (i % 64)) & 1;
#endif
  }
  void mark(std::uint32_t i) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    if (!(data()[i / 64] & bit)) ++count_;
    data()[i / 64] |= bit;
  }
  std::uint32_t count() const noexcept {
#ifdef SLUICE_MUTATION_NO_TRIED_FILTER
    return 0;
#else
    return count_;
#endif
  }

 private:
  static constexpr std::uint32_t kNear = 2;
  std::uint64_t* data() noexcept { return far_ ? far_ : near_.data(); }
  const std::uint64_t* data() const noexcept { return far_ ? far_ : near_.data(); }

  std::uint64_t* far_ = nullptr;
  std::uint32_t words_ = kNear;
  std::uint32_t count_ = 0;
  std::array<std::uint64_t, kNear> near_{};
};

}  // namespace sluice::balancer
