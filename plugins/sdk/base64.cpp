#include "plugins/sdk/base64.hpp"

#include <array>
#include <cstdint>

namespace sluice::sdk {

namespace {

constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
using Values = std::array<std::int8_t, 256>;

constexpr Values values_of(std::string_view alphabet) {
  Values values{};
  for (auto& v : values) v = -1;
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  return values;
}
constexpr Values kPlainValues = values_of(kPlain);
constexpr Values kUrlValues = values_of(kUrl);

// Octets written to `out` (room for 3/4 of the text), or nothing.
std::optional<std::size_t> decode(std::string_view text, const Values& values, char* out) noexcept {
  for (int i = 0; i < 2 && !text.empty() && text.back() == '='; ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::uint32_t bits = 0;
  int have = 0;
  std::size_t n = 0;
  for (const char c : text) {
    const int v = values[static_cast<unsigned char>(c)];
    if (v < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(v);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out[n++] = static_cast<char>(bits >> have & 0xff);
  }
  return n;
}

std::optional<std::string_view> decode(Arena& arena, std::string_view text, const Values& values) noexcept {
  char* const out = static_cast<char*>(arena.allocate(text.size() * 3 / 4 + 1, 1));
  const auto n = decode(text, values, out);
  if (!n) return std::nullopt;
  return std::string_view(out, *n);
}

}  // namespace

std::optional<std::string_view> base64_decode(Arena& arena, std::string_view text) noexcept {
  return decode(arena, text, kPlainValues);
}

std::optional<std::string_view> base64url_decode(Arena& arena, std::string_view text) noexcept {
  return decode(arena, text, kUrlValues);
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string out(text.size() * 3 / 4 + 1, '\0');
  const auto n = decode(text, kPlainValues, out.data());
  if (!n) return std::nullopt;
  out.resize(*n);
  return out;
}

std::string_view base64_encode(Arena& arena, std::string_view octets) noexcept {
  const std::size_t size = (octets.size() + 2) / 3 * 4;
  char* const begin = static_cast<char*>(arena.allocate(size + 1, 1));
  char* at = begin;
  for (std::size_t i = 0; i < octets.size(); i += 3) {
    const std::size_t n = octets.size() - i < 3 ? octets.size() - i : 3;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < n ? static_cast<unsigned char>(octets[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) *at++ = k <= n ? kPlain[bits >> (18 - 6 * k) & 63] : '=';
  }
  return {begin, size};
}

}  // namespace sluice::sdk
