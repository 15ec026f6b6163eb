// Replacement: the text that takes the place of a regular expression's match, compiled once.
//
// `$1`, `$12` and `${1}` are groups, `$0` is the whole match, `$$` is a dollar; a group that took no part is empty.
// Any other `$` is an error, said when the configuration is compiled. Used by proxy-rewrite, redirect,
// response-rewrite.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conf/base/pcre.hpp"
#include "conf/base/result.hpp"
#include "plugins/sdk/arena.hpp"

namespace sluice::sdk {

class Replacement {
 public:
  // Error reason: "failed to compile the replacement template".
  static Result<Replacement> compile(std::string_view text);

  std::string_view expand(Arena& arena, const Captures& captures) const noexcept;

 private:
  struct Part {
    std::string literal;  // before the group
    int group = -1;       // -1: no group follows
  };
  std::vector<Part> parts_;
};

// `failed`: a limit of the regex engine ended the attempt; `out` is then the subject.
enum class Substituted : unsigned char { no, yes, failed };

// The first match, and only what it matched, is replaced. `captures` are those of the match.
Substituted substitute_once(const Regex& regex, const Replacement& replacement, std::string_view subject, Arena& arena,
                            std::string_view& out, Captures& captures) noexcept;

// Every match from left to right; an empty match moves on by one octet.
Substituted substitute_all(const Regex& regex, const Replacement& replacement, std::string_view subject, Arena& arena,
                           std::string_view& out) noexcept;

// The text that Admin API clients know for a pattern that does not compile: `pcre2_compile() failed: … in "<pattern>"`.
std::string pattern_error(std::string_view pattern, const Error& error);

}  // namespace sluice::sdk
