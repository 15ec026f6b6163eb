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

// Thread sanitizer knows no fences: in its builds every word carries the order itself, and fences only hold the
// compiler.
#ifdef __SANITIZE_THREAD__
inline constexpr auto kWordLoad = std::memory_order_acquire, kWordStore = std::memory_order_release;
inline void release_fence() noexcept { asm volatile("" ::: "memory"); }
inline void acquire_fence() noexcept { asm volatile("" ::: "memory"); }
#else
inline constexpr auto kWordLoad = std::memory_order_relaxed, kWordStore = std::memory_order_relaxed;
// Stores before it become visible before stores behind it.
inline void release_fence() noexcept { std::atomic_thread_fence(std::memory_order_release); }
// Loads before it are done before loads behind it.
inline void acquire_fence() noexcept { std::atomic_thread_fence(std::memory_order_acquire); }
#endif

inline Word load_word(const Word& w) noexcept { return std::atomic_ref<Word>(const_cast<Word&>(w)).load(kWordLoad); }
inline void store_word(Word& w, Word v) noexcept { std::atomic_ref<Word>(w).store(v, kWordStore); }
// For words with one writer at a time (its owner, or the holder of the lock): no locked instruction needed.
inline void add_word(Word& w, Word by) noexcept { store_word(w, load_word(w) + by); }

constexpr Word pack(std::uint32_t low, std::uint32_t high) noexcept { return Word{high} << 32 | low; }
constexpr std::uint32_t low_half(Word w) noexcept { return static_cast<std::uint32_t>(w); }
constexpr std::uint32_t high_half(Word w) noexcept { return static_cast<std::uint32_t>(w >> 32); }
constexpr Word with_low(Word w, std::uint32_t low) noexcept { return pack(low, high_half(w)); }
constexpr Word with_high(Word w, std::uint32_t high) noexcept { return pack(low_half(w), high); }

constexpr std::uint64_t align_up(std::uint64_t n, std::uint64_t to) noexcept { return (n + to - 1) / to * to; }

}  // namespace sluice::shm
