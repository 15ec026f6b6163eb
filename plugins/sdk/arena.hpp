// Arena: the memory of one request. Bump allocation, nothing is freed before the request ends.
//
// Blocks come from a pool of the process, so that the steady path never reaches malloc; an idle connection keeps none.
// A real out-of-memory ends the worker on purpose (the supervisor starts a new one): there is no half-allocated request.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

namespace sluice::sdk {

class Arena {
 public:
  static constexpr std::size_t kBlockBytes = 8192;

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { reset(); }

  void* allocate(std::size_t bytes, std::size_t align = alignof(std::max_align_t)) noexcept {
    const std::size_t mask = align - 1;
    char* p = reinterpret_cast<char*>((reinterpret_cast<std::size_t>(cursor_) + mask) & ~mask);
    if (cursor_ == nullptr || p > end_ || bytes > static_cast<std::size_t>(end_ - p)) return allocate_slow(bytes, align);
    cursor_ = p + bytes;
    return p;
  }

  template <class T>
  std::span<T> array(std::size_t n) noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    T* p = static_cast<T*>(allocate(n * sizeof(T), alignof(T)));
    for (std::size_t i = 0; i < n; ++i) new (p + i) T();
    return {p, n};
  }

  template <class T, class... A>
  T* make(A&&... args) noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T(static_cast<A&&>(args)...);
  }

  std::string_view copy(std::string_view text) noexcept {
    if (text.empty()) return {"", 0};
    char* p = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(p, text.data(), text.size());
    return {p, text.size()};
  }

  // The parts one after the other, in memory of the arena.
  std::string_view concat(std::initializer_list<std::string_view> parts) noexcept;

  std::size_t bytes() const noexcept { return bytes_; }  // taken from the pool, for the accounting of budgets
  void reset() noexcept;                                 // gives all blocks back to the pool

 private:
  struct Block;
  void* allocate_slow(std::size_t bytes, std::size_t align) noexcept;

  char* cursor_ = nullptr;
  char* end_ = nullptr;
  Block* blocks_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sluice::sdk
