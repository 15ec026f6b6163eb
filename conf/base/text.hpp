// Small text helpers that every room needs: case-insensitive comparison (ASCII), trimming, splitting, numbers, percent
// decoding, and the nearest known name for messages that teach. No locale, no allocation unless a string is returned.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
constexpr char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
constexpr bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

inline bool iequal(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

inline bool istarts_with(std::string_view text, std::string_view prefix) noexcept {
  return text.size() >= prefix.size() && iequal(text.substr(0, prefix.size()), prefix);
}

inline std::string to_lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = lower(c);
  return out;
}

constexpr std::string_view trim(std::string_view s) noexcept {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

// Parts between separators; empty parts are kept. An empty text gives one empty part.
inline std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = s.find(separator);
    parts.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return parts;
    s.remove_prefix(at + 1);
  }
}

// The whole text as a number, or nothing.
template <class Int>
std::optional<Int> to_int(std::string_view s) noexcept {
  Int value{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

inline std::optional<double> to_double(std::string_view s) noexcept {
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

constexpr int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

// %XX -> byte; malformed escapes stay as they are. With `plus`, '+' is a blank (forms).
inline std::string percent_decode(std::string_view s, bool plus = false) {
  std::string out;
  out.reserve(s.size());
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '%' && i + 2 < s.size() && hex_value(s[i + 1]) >= 0 && hex_value(s[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_value(s[i + 1]) * 16 + hex_value(s[i + 2])));
      i += 2;
    } else {
      out.push_back(plus && s[i] == '+' ? ' ' : s[i]);
    }
  }
  return out;
}

// Everything but letters, digits and -_.~ as %XX (upper case).
inline std::string percent_encode(std::string_view s) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(s.size());
  for (char c : s) {
    const bool plain = is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out.push_back(c);
      continue;
    }
    const auto b = static_cast<unsigned char>(c);
    out.append({'%', kHex[b >> 4], kHex[b & 15]});
  }
  return out;
}

// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
inline bool valid_utf8(std::string_view s) noexcept {
  std::size_t i = 0;
  const auto tail = [&](std::size_t at, unsigned char low, unsigned char high) {
    return at < s.size() && static_cast<unsigned char>(s[at]) >= low && static_cast<unsigned char>(s[at]) <= high;
  };
  while (i < s.size()) {
    const auto c = static_cast<unsigned char>(s[i]);
    if (c < 0x80) {
      ++i;
    } else if (c >= 0xc2 && c <= 0xdf && tail(i + 1, 0x80, 0xbf)) {
      i += 2;
    } else if ((c & 0xf0) == 0xe0 && tail(i + 1, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf) &&
               tail(i + 2, 0x80, 0xbf)) {
      i += 3;
    } else if (c >= 0xf0 && c <= 0xf4 && tail(i + 1, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf) &&
               tail(i + 2, 0x80, 0xbf) && tail(i + 3, 0x80, 0xbf)) {
      i += 4;
    } else {
      return false;
    }
  }
  return true;
}

// Levenshtein distance, case-insensitive. Cost O(|a|·|b|): for short names only.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// The known name a writer most likely meant, or an empty view when none is near.
template <class Names>
std::string_view nearest(std::string_view given, const Names& known) {
  std::string_view best;
  std::size_t best_distance = given.size() / 3 + 2;
  if (given.size() > 64) return best;
  for (const auto& name : known) {
    const std::size_t d = edit_distance(given, name);
    if (d < best_distance) {
      best_distance = d;
      best = name;
    }
  }
  return best;
}

}  // namespace sluice::text
