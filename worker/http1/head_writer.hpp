// HeadWriter: composes a head flat into a buffer of known size. The caller has summed up what comes, so the writer
// checks only in the end (`fits`).
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sluice::worker {

class HeadWriter {
 public:
  HeadWriter(char* begin, std::size_t room) noexcept : begin_(begin), at_(begin), end_(begin + room) {}

  void text(std::string_view s) noexcept {
    if (s.size() > static_cast<std::size_t>(end_ - at_)) {
      full_ = true;
      return;
    }
    std::memcpy(at_, s.data(), s.size());
    at_ += s.size();
  }
  void field(std::string_view name, std::string_view value) noexcept {
    if (name.size() + value.size() + 4 > static_cast<std::size_t>(end_ - at_)) {
      full_ = true;
      return;
    }
    char* p = at_;
    std::memcpy(p, name.data(), name.size());
    p += name.size();
    *p++ = ':';
    *p++ = ' ';
    std::memcpy(p, value.data(), value.size());
    p += value.size();
    *p++ = '\r';
    *p++ = '\n';
    at_ = p;
  }
  void number(std::uint64_t n) noexcept {
    const auto [p, error] = std::to_chars(at_, end_, n);
    if (error != std::errc())
      full_ = true;
    else
      at_ = p;
  }

  bool fits() const noexcept { return !full_; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }

 private:
  char* begin_;
  char* at_;
  char* end_;
  bool full_ = false;
};

}  // namespace sluice::worker
