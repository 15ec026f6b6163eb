// Buffer: a block of octets from the worker's pool, in four sizes. Moved, never copied; given back when it dies.
//
// An idle connection holds none. Each size keeps a bounded reserve; what is above goes back to the system.
#pragma once

#include <cstddef>
#include <utility>

namespace sluice::worker {

class Buffer {
 public:
  static constexpr std::size_t kSmall = 4096;      // request heads
  static constexpr std::size_t kMedium = 16384;    // relaying
  static constexpr std::size_t kLarge = 65536;     // relaying of large bodies, bodies kept for a retry
  static constexpr std::size_t kHuge = 1u << 17;   // heads of unusual size

  Buffer() = default;
  explicit Buffer(std::size_t at_least) noexcept;  // REQUIRES: at most kHuge
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() { reset(); }

  explicit operator bool() const noexcept { return data_ != nullptr; }
  char* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  void reset() noexcept {
    if (data_ != nullptr) give_back();
  }

  static std::size_t outstanding_bytes() noexcept;  // lent out now

 private:
  void give_back() noexcept;
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sluice::worker
