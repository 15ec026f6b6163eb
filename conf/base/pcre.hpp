// Regular expressions: a small owner around PCRE2, compiled once (with JIT where it can be had), matched many times.
//
// A compiled Regex is immutable and may be shared by threads; what a match needs lives in a scratch area per thread.
// Match, depth and heap limits are always set: a hostile pattern gives "no match", never a stall. Matching does not
// throw and does not allocate after a thread's first match.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "conf/base/result.hpp"

struct pcre2_real_code_8;

namespace sluice {

// Groups of one match as views into the subject. Group 0 is the whole match; groups that took no part are empty views
// with a null data pointer.
struct Captures {
  static constexpr std::size_t kMax = 32;
  std::array<std::string_view, kMax> groups{};
  std::size_t count = 0;  // highest group that exists in the pattern + 1, at most kMax
  std::size_t begin = 0;  // offsets of the whole match
  std::size_t end = 0;

  std::string_view operator[](std::size_t i) const noexcept { return i < count ? groups[i] : std::string_view(); }
};

class Regex {
 public:
  enum Flags : unsigned {
    none = 0,
    caseless = 1,   // i
    multiline = 2,  // m
    dotall = 4,     // s
    extended = 8,   // x
    anchored = 16,  // match at the start only
    utf = 32,       // u
  };

  // Error: PCRE2's text and the offset in the pattern.
  static Result<Regex> compile(std::string_view pattern, unsigned flags = none);

  Regex() = default;
  explicit operator bool() const noexcept { return code_ != nullptr; }

  // True when the pattern occurs anywhere in `subject` at or after `start`. Limits hit count as no match.
  bool search(std::string_view subject, std::size_t start = 0) const noexcept;
  bool match(std::string_view subject, Captures& out, std::size_t start = 0) const noexcept;

  // As match(), and says whether a limit of the engine ended the attempt.
  enum class Outcome : unsigned char { matched, unmatched, failed };
  Outcome try_match(std::string_view subject, Captures& out, std::size_t start = 0) const noexcept;

  const std::string& pattern() const noexcept { return *pattern_; }
  std::size_t group_count() const noexcept { return group_count_; }

 private:
  std::shared_ptr<const pcre2_real_code_8> code_;
  std::shared_ptr<const std::string> pattern_;
  std::size_t group_count_ = 0;
};

}  // namespace sluice
