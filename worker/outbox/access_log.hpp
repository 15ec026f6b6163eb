// AccessLog: one line per request, from a format compiled once, into a buffer that is written when it is full and at
// least every three seconds.
//
// The file is opened for appending, so that workers share it line by line; it is opened anew on USR1. Writing never
// waits: what a full pipe does not take is dropped and counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/clock.hpp"
#include "conf/base/result.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::worker {

class AccessLog {
 public:
  enum class Escape : std::uint8_t { normal, json, none };
  struct Options {
    std::string path;
    std::string format;
    Escape escape = Escape::normal;
    std::size_t buffer = 16384;
  };

  // Error: the file cannot be opened.
  static Result<std::unique_ptr<AccessLog>> open(const Options& options);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void write(sdk::RequestContext& ctx) noexcept;
  void flush() noexcept;
  void tick(TimePoint now) noexcept;  // flushes what has waited for three seconds
  bool reopen() noexcept;             // false, with errno: cannot be opened, and the old file stays in use
  std::uint64_t dropped() const noexcept { return dropped_; }

  // One line as it would be written, for tests.
  std::string line_for_test(sdk::RequestContext& ctx) noexcept;

 private:
  struct Part {
    std::string literal;
    sdk::Variable variable;
    bool reference = false;
  };
  explicit AccessLog(const Options& options);
  void compile(std::string_view format);
  void append(std::string_view octets) noexcept;
  void append_escaped(std::string_view value) noexcept;
  void render(sdk::RequestContext& ctx) noexcept;

  std::string path_;
  Escape escape_;
  std::vector<Part> parts_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0, size_ = 0;
  int fd_ = -1;
  TimePoint oldest_{};
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice::worker
