// Times and sizes as texts: "1m30s", "10m".
#include <cmath>
#include <limits>

#include "conf/base/text.hpp"
#include "conf/node_config.hpp"

namespace sluice::conf {
namespace {

std::int64_t unit_ms(std::string_view unit) noexcept {
  constexpr std::int64_t kSecond = 1000, kDay = 86'400'000;
  if (unit == "ms") return 1;
  if (unit == "s" || unit.empty()) return kSecond;
  if (unit == "m") return 60 * kSecond;
  if (unit == "h") return 3600 * kSecond;
  if (unit == "d") return kDay;
  if (unit == "w") return 7 * kDay;
  if (unit == "M") return 30 * kDay;
  if (unit == "y") return 365 * kDay;
  return 0;
}

constexpr double kMaxMs = 100.0 * 365 * 86'400'000;

}  // namespace

Result<milliseconds> parse_duration(std::string_view text) {
  const std::string_view whole = text::trim(text);
  std::string_view rest = whole;
  double total = 0;
  if (rest.empty()) return invalid("expected a time such as 60s, found an empty text");
  while (!rest.empty()) {
    std::size_t n = 0;
    while (n < rest.size() && (text::is_digit(rest[n]) || rest[n] == '.')) ++n;
    const auto number = text::to_double(rest.substr(0, n));
    rest.remove_prefix(n);
    std::size_t u = 0;
    while (u < rest.size() && !text::is_digit(rest[u]) && rest[u] != ' ' && rest[u] != '.') ++u;
    const std::int64_t unit = unit_ms(rest.substr(0, u));
    rest = text::trim(rest.substr(u));
    if (!number || unit == 0)
      return invalid("expected a time such as 60s, 500ms or 1m30s, found \"" + std::string(whole) + "\"");
    total += *number * static_cast<double>(unit);
  }
  if (total > kMaxMs) return invalid("the time \"" + std::string(whole) + "\" is over 100 years");
  return milliseconds(std::llround(total));
}

Result<std::uint64_t> parse_size(std::string_view text) {
  std::string_view digits = text::trim(text);
  unsigned shift = 0;
  if (!digits.empty()) {
    switch (text::lower(digits.back())) {
      case 'k':
        shift = 10;
        break;
      case 'm':
        shift = 20;
        break;
      case 'g':
        shift = 30;
        break;
      default:
        break;
    }
    if (shift != 0) digits.remove_suffix(1);
  }
  const auto number = text::to_int<std::uint64_t>(digits);
  if (!number || *number > (std::numeric_limits<std::uint64_t>::max() >> (shift + 1)))
    return invalid("expected a size such as 16384, 512k, 10m or 1g, found \"" + std::string(text) + "\"");
  return *number << shift;
}

}  // namespace sluice::conf
