#include "plugins/sdk/json_text.hpp"

namespace sluice::sdk {

namespace {

// Writes the escaped form of `c` to `out` (room for six) and returns its length.
std::size_t escape(char c, char* out) noexcept {
  static constexpr char kHex[] = "0123456789abcdef";
  char letter = 0;
  switch (c) {
    case '"':
      letter = '"';
      break;
    case '\\':
      letter = '\\';
      break;
    case '\n':
      letter = 'n';
      break;
    case '\r':
      letter = 'r';
      break;
    case '\t':
      letter = 't';
      break;
    case '\b':
      letter = 'b';
      break;
    case '\f':
      letter = 'f';
      break;
    default:
      break;
  }
  if (letter != 0) {
    out[0] = '\\';
    out[1] = letter;
    return 2;
  }
  const auto octet = static_cast<unsigned char>(c);
  if (octet >= 0x20) {
    out[0] = c;
    return 1;
  }
  std::memcpy(out, "\\u00", 4);
  out[4] = kHex[octet >> 4];
  out[5] = kHex[octet & 15];
  return 6;
}

}  // namespace

std::string_view json_string(Arena& arena, std::string_view text) noexcept {
  char scratch[6];
  std::size_t size = 2;
  for (const char c : text) size += escape(c, scratch);
  char* const begin = static_cast<char*>(arena.allocate(size, 1));
  char* at = begin;
  *at++ = '"';
  for (const char c : text) {
    const std::size_t n = escape(c, scratch);
    std::memcpy(at, scratch, n);
    at += n;
  }
  *at = '"';
  return {begin, size};
}

std::string_view json_line(Arena& arena, std::string_view member, std::string_view text) noexcept {
  return arena.concat({"{", json_string(arena, member), ":", json_string(arena, text), "}\n"});
}

std::string json_line(std::string_view member, std::string_view text) {
  Arena arena;
  return std::string(json_line(arena, member, text));
}

}  // namespace sluice::sdk
