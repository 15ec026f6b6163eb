// Shared words: how memory that several processes see is read and written.
//
// Everything shared is a fixed-width integer, 64 bits wide where it is journaled. Words are stored with relaxed atomics
// (the same instruction as a plain store), so that a reader without the lock sees old or new and never a half.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::shm {

using Word = std::uint64_t;

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kPage = 4096;

inline Word load_word(const Word& w) noexcept {
  return std::atomic_ref<Word>(const_cast<Word&>(w)).load(std::memory_order_relaxed);
}
inline void store_word(Word& w, Word v) noexcept { std::atomic_ref<Word>(w).store(v, std::memory_order_relaxed); }
// For words with one writer at a time (its owner, or the holder of the lock): no locked instruction needed.
inline void add_word(Word& w, Word by) noexcept { store_word(w, load_word(w) + by); }

constexpr Word pack(std::uint32_t low, std::uint32_t high) noexcept { return Word{high} << 32 | low; }
constexpr std::uint32_t low_half(Word w) noexcept { return static_cast<std::uint32_t>(w); }
constexpr std::uint32_t high_half(Word w) noexcept { return static_cast<std::uint32_t>(w >> 32); }
constexpr Word with_low(Word w, std::uint32_t low) noexcept { return pack(low, high_half(w)); }
constexpr Word with_high(Word w, std::uint32_t high) noexcept { return pack(low_half(w), high); }

constexpr std::uint64_t align_up(std::uint64_t n, std::uint64_t to) noexcept { return (n + to - 1) / to * to; }

}  // namespace sluice::shm
