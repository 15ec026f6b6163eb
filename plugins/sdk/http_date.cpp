#include "plugins/sdk/http_date.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "conf/base/text.hpp"

namespace sluice::sdk {

namespace {

constexpr std::string_view kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t n) noexcept {
  int value = 0;
  for (std::size_t i = at; i < at + n; ++i) {
    if (!text::is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace

std::string_view cookie_date(Arena& arena, std::int64_t unix_seconds) noexcept {
  using namespace std::chrono;
  constexpr std::int64_t kLast = 253'402'300'799;  // the end of the year 9999
  const sys_seconds when{seconds(std::clamp<std::int64_t>(unix_seconds, 0, kLast))};
  const auto day = floor<days>(when);
  const year_month_day date{day};
  const hh_mm_ss time{when - day};
  char* const out = static_cast<char*>(arena.allocate(64, 1));
  const int n =
      std::snprintf(out, 64, "%s, %02u-%s-%02d %02d:%02d:%02d GMT", kDays[weekday{day}.c_encoding()].data(),
                    static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1].data(),
                    static_cast<int>(date.year()) % 100, static_cast<int>(time.hours().count()),
                    static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
  return {out, static_cast<std::size_t>(n)};
}

std::optional<std::int64_t> parse_http_date(std::string_view text) noexcept {
  using namespace std::chrono;
  //  0    5  8   12   17 20 23
  // "Tue, 19 Jan 2021 11:33:20 GMT"
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT") return std::nullopt;
  if (text[7] != ' ' || text[11] != ' ' || text[16] != ' ' || text[19] != ':' || text[22] != ':') return std::nullopt;
  unsigned month = 0;
  while (month < 12 && kMonths[month] != text.substr(8, 3)) ++month;
  const auto d = digits(text, 5, 2), y = digits(text, 12, 4), h = digits(text, 17, 2), m = digits(text, 20, 2),
             s = digits(text, 23, 2);
  if (month == 12 || !d || !y || !h || !m || !s || *h > 23 || *m > 59 || *s > 60) return std::nullopt;
  const year_month_day date{year(*y), std::chrono::month(month + 1), day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  return (sys_days(date).time_since_epoch() + hours(*h) + minutes(*m) + seconds(*s)) / seconds(1);
}

}  // namespace sluice::sdk
