#include "plugins/sdk/replacement.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "conf/base/text.hpp"

namespace sluice::sdk {

namespace {

constexpr std::size_t kMaxDigits = 4;

// A list of views put together at the end. Grows in the arena by doubling.
class Pieces {
 public:
  explicit Pieces(Arena& arena) noexcept : arena_(arena) {}

  void add(std::string_view text) noexcept {
    if (text.empty()) return;
    if (size_ == items_.size()) {
      const auto bigger = arena_.array<std::string_view>(items_.empty() ? 16 : items_.size() * 2);
      std::copy(items_.begin(), items_.end(), bigger.begin());
      items_ = bigger;
    }
    items_[size_++] = text;
    total_ += text.size();
  }

  std::string_view joined() const noexcept {
    if (size_ == 0) return {"", 0};
    if (size_ == 1) return items_[0];
    char* const begin = static_cast<char*>(arena_.allocate(total_, 1));
    char* at = begin;
    for (std::size_t i = 0; i < size_; ++i) {
      std::memcpy(at, items_[i].data(), items_[i].size());
      at += items_[i].size();
    }
    return {begin, total_};
  }

 private:
  Arena& arena_;
  std::span<std::string_view> items_;
  std::size_t size_ = 0;
  std::size_t total_ = 0;
};

}  // namespace

Result<Replacement> Replacement::compile(std::string_view text) {
  const auto broken = [] { return invalid("failed to compile the replacement template"); };
  Replacement r;
  std::string literal;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '$') {
      literal.push_back(text[i++]);
      continue;
    }
    if (++i == text.size()) return broken();
    if (text[i] == '$') {
      literal.push_back('$');
      ++i;
      continue;
    }
    const bool braced = text[i] == '{';
    const std::size_t begin = braced ? i + 1 : i;
    std::size_t end = begin;
    while (end < text.size() && text::is_digit(text[end])) ++end;
    const auto group = text::to_int<int>(text.substr(begin, end - begin));
    if (end == begin || end - begin > kMaxDigits || !group) return broken();
    if (braced && (end == text.size() || text[end] != '}')) return broken();
    r.parts_.push_back({std::move(literal), *group});
    literal.clear();
    i = braced ? end + 1 : end;
  }
  if (!literal.empty()) r.parts_.push_back({std::move(literal), -1});
  return r;
}

std::string_view Replacement::expand(Arena& arena, const Captures& captures) const noexcept {
  Pieces pieces(arena);
  for (const Part& part : parts_) {
    pieces.add(part.literal);
    if (part.group >= 0) pieces.add(captures[static_cast<std::size_t>(part.group)]);
  }
  return pieces.joined();
}

Substituted substitute_once(const Regex& regex, const Replacement& replacement, std::string_view subject, Arena& arena,
                            std::string_view& out, Captures& captures) noexcept {
  out = subject;
  switch (regex.try_match(subject, captures)) {
    case Regex::Outcome::unmatched:
      return Substituted::no;
    case Regex::Outcome::failed:
      return Substituted::failed;
    case Regex::Outcome::matched:
      break;
  }
  out = arena.concat(
      {subject.substr(0, captures.begin), replacement.expand(arena, captures), subject.substr(captures.end)});
  return Substituted::yes;
}

Substituted substitute_all(const Regex& regex, const Replacement& replacement, std::string_view subject, Arena& arena,
                           std::string_view& out) noexcept {
  out = subject;
  Pieces pieces(arena);
  Captures captures;
  std::size_t copied = 0;
  bool any = false;
  for (std::size_t at = 0; at <= subject.size();) {
    const Regex::Outcome outcome = regex.try_match(subject, captures, at);
    if (outcome == Regex::Outcome::failed) return Substituted::failed;
    if (outcome == Regex::Outcome::unmatched) break;
    any = true;
    // `\K` inside an assertion can put the begin before what is done, or behind the end.
    const std::size_t begin = std::max(captures.begin, copied);
    pieces.add(subject.substr(copied, begin - copied));
    pieces.add(replacement.expand(arena, captures));
    copied = std::max(captures.end, begin);
    at = captures.end > captures.begin ? std::max(captures.end, at + 1) : captures.end + 1;
    at = std::max(at, copied);
  }
  if (!any) return Substituted::no;
  pieces.add(subject.substr(copied));
  out = pieces.joined();
  return Substituted::yes;
}

std::string pattern_error(std::string_view pattern, const Error& error) {
  // The engine's own words stand before " at offset ".
  const std::string_view reason = error.reason;
  return "pcre2_compile() failed: " + std::string(reason.substr(0, reason.find(" at offset "))) + " in \"" +
         std::string(pattern) + "\"";
}

}  // namespace sluice::sdk
