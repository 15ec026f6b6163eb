// Pattern: one `uri` of a route, taken apart once.
//
//   /blog/foo      exact
//   /blog/bar*     prefix "/blog/bar"
//   /blog/*        prefix "/blog/", the rest captured as ":ext"
//   /a/*rest/b     prefix "/a/", then the whole path is compared segment by segment
//   /user/:id      (parameter router) prefix "/user/", one non-empty segment captured as "id"
//
// The specification speaks of an anchored regular expression whose literal segments go in unescaped. Patterns without
// operators in their literals (a dot is fine) and with at most one `*` segment are compared by a few lines of code that
// do the same; the rest runs PCRE2 with its limits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/pcre.hpp"

namespace sluice::router {

class Pattern {
 public:
  static constexpr std::size_t kMaxCaptures = 31;  // what is beyond is compared but not kept
  using Values = std::array<std::string_view, kMaxCaptures>;

  Pattern(std::string_view text, bool parameters);

  const std::string& text() const noexcept { return text_; }
  bool exact() const noexcept { return exact_; }
  std::string_view literal() const noexcept { return std::string_view(text_).substr(0, literal_); }  // tree key
  // REQUIRES: path equals (exact) or begins with literal(). Fills values[i] for name(i).
  bool match(std::string_view path, Values& values) const noexcept;
  // Whether match() can say no.
  bool decides() const noexcept { return program_ && !program_->always; }

  std::size_t captures() const noexcept { return program_ ? program_->names.size() : 0; }
  std::string_view name(std::size_t i) const noexcept { return program_->names[i]; }
  std::size_t bytes() const noexcept;

 private:
  struct Segment {
    enum class Kind : std::uint8_t { literal, parameter, star } kind;
    std::uint32_t begin, size;   // in text_
  };
  struct Program {
    std::vector<Segment> segments;
    std::vector<std::string> names;
    std::size_t star = kNone;        // index of the only `*` segment
    bool always = false;             // nothing but a last `*` after the literal prefix
    bool use_regex = false;
    Regex regex;                     // empty when it does not compile: never matches
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  void compile(bool parameters);
  void compile_regex();
  bool match_segments(std::string_view path, Values& values) const noexcept;
  bool match_regex(std::string_view path, Values& values) const noexcept;
  std::string_view text_of(const Segment& s) const noexcept { return {text_.data() + s.begin, s.size}; }
  bool match_one(const Segment& segment, std::string_view text) const noexcept;

  std::string text_;
  std::uint32_t literal_ = 0;
  bool exact_ = true;
  std::unique_ptr<Program> program_;
};

}  // namespace sluice::router
