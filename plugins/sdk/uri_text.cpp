#include "plugins/sdk/uri_text.hpp"

#include <array>

#include "plugins/sdk/variable_getters.hpp"

namespace sluice::sdk {

namespace {

using OctetSet = std::array<bool, 256>;

constexpr OctetSet controls() {
  OctetSet set{};
  for (std::size_t c = 0; c < 0x20; ++c) set[c] = true;
  set[0x7f] = true;
  return set;
}

constexpr OctetSet kInPath = [] {
  OctetSet set = controls();
  for (std::size_t c = 0x80; c < 256; ++c) set[c] = true;
  for (const char c : std::string_view(" \"#%<>?\\^`{|}")) set[static_cast<unsigned char>(c)] = true;
  return set;
}();
constexpr OctetSet kInLine = [] {
  OctetSet set = controls();
  set[' '] = true;
  return set;
}();
constexpr OctetSet kInField = [] {
  OctetSet set = controls();
  set['\t'] = false;
  return set;
}();

std::string_view escape(Arena& arena, std::string_view text, const OctetSet& set) noexcept {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::size_t found = 0;
  for (const char c : text) found += set[static_cast<unsigned char>(c)] ? 1 : 0;
  if (found == 0) return text;
  const std::size_t size = text.size() + 2 * found;
  char* const begin = static_cast<char*>(arena.allocate(size, 1));
  char* at = begin;
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (!set[octet]) {
      *at++ = c;
      continue;
    }
    *at++ = '%';
    *at++ = kHex[octet >> 4];
    *at++ = kHex[octet & 15];
  }
  return {begin, size};
}

}  // namespace

std::string_view escape_path(Arena& arena, std::string_view path) noexcept { return escape(arena, path, kInPath); }
std::string_view escape_line_breakers(Arena& arena, std::string_view text) noexcept {
  return escape(arena, text, kInLine);
}
std::string_view safe_field_value(Arena& arena, std::string_view value) noexcept {
  return escape(arena, value, kInField);
}

std::string_view origin_form(std::string_view target) noexcept {
  if (target.starts_with('/') || target == "*") return target;
  const auto scheme = target.find("://");
  if (scheme == std::string_view::npos) return target;
  target.remove_prefix(scheme + 3);
  const auto path = target.find_first_of("/?");
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

std::string_view without_argument(Arena& arena, std::string_view query, std::string_view name) noexcept {
  char* const begin = static_cast<char*>(arena.allocate(query.size() + 1, 1));
  std::size_t n = 0;
  bool dropped = false;
  for (std::string_view rest = query; !rest.empty();) {
    const auto amp = rest.find('&');
    const std::string_view pair = rest.substr(0, amp);
    rest = amp == std::string_view::npos ? std::string_view() : rest.substr(amp + 1);
    if (decode_component(arena, pair.substr(0, pair.find('='))) == name) {
      dropped = true;
      continue;
    }
    if (n > 0) begin[n++] = '&';
    std::memcpy(begin + n, pair.data(), pair.size());
    n += pair.size();
  }
  return dropped ? std::string_view(begin, n) : query;
}

}  // namespace sluice::sdk
