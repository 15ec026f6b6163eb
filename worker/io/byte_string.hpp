// ByteString: octets that grow. Up to 128 KiB in blocks of the worker's pool, beyond that from malloc. For bodies that a
// plugin rewrites or wants whole; the plain relay never needs it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "worker/io/buffer.hpp"

namespace sluice::worker {

class ByteString {
 public:
  ByteString() = default;
  ByteString(const ByteString&) = delete;
  ByteString& operator=(const ByteString&) = delete;
  ~ByteString() { std::free(large_); }

  void append(std::string_view octets) noexcept {
    if (octets.empty()) return;
    reserve(size_ + octets.size());
    std::memcpy(data() + size_, octets.data(), octets.size());
    size_ += octets.size();
  }
  void clear() noexcept { size_ = 0; }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  std::string_view view() const noexcept { return {data(), size_}; }

  void reserve(std::size_t wanted) noexcept {
    if (wanted <= capacity_) return;
    if (wanted <= Buffer::kHuge && large_ == nullptr) {
      Buffer bigger(wanted);
      if (size_ != 0) std::memcpy(bigger.data(), small_.data(), size_);
      small_ = std::move(bigger);
      capacity_ = small_.size();
      return;
    }
    std::size_t grown = capacity_ < Buffer::kHuge ? Buffer::kHuge : capacity_;
    while (grown < wanted) grown *= 2;
    char* const block = static_cast<char*>(std::malloc(grown));
    if (block == nullptr) std::abort();
    if (size_ != 0) std::memcpy(block, data(), size_);
    std::free(large_);
    large_ = block;
    small_.reset();
    capacity_ = grown;
  }

 private:
  char* data() const noexcept { return large_ != nullptr ? large_ : small_.data(); }
  Buffer small_;
  char* large_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace sluice::worker
