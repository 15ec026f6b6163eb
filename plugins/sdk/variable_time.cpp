// Calendar and duration variables. Rendered from the clocks of the context; local time zone as the process has it.
#include <charconv>
#include <cstdio>
#include <ctime>

#include "plugins/sdk/variable_getters.hpp"

namespace sluice::sdk::getters {

Value request_time(RequestContext& ctx, std::string_view) noexcept {
  return Value::of(seconds_text(ctx.arena, (ctx.now - ctx.started).count()));
}

namespace {

// A rendered second of one process: log lines of the same second share it.
struct RenderedSecond {
  std::time_t second = -1;
  char local[32];
  std::size_t local_size = 0;
  char iso[32];
  std::size_t iso_size = 0;
};

const RenderedSecond& rendered(WallTime wall) noexcept {
  static thread_local RenderedSecond r;
  const auto second = static_cast<std::time_t>(std::chrono::duration_cast<seconds>(wall.time_since_epoch()).count());
  if (second == r.second) return r;
  std::tm tm{};
  ::localtime_r(&second, &tm);
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const long offset = tm.tm_gmtoff / 60;
  const char sign = offset < 0 ? '-' : '+';
  const unsigned away = static_cast<unsigned>(offset < 0 ? -offset : offset) % 1440;
  const unsigned day = static_cast<unsigned>(tm.tm_mday) % 100, hour = static_cast<unsigned>(tm.tm_hour) % 100,
                 minute = static_cast<unsigned>(tm.tm_min) % 100, sec = static_cast<unsigned>(tm.tm_sec) % 100,
                 month = static_cast<unsigned>(tm.tm_mon) % 12;
  const unsigned year = static_cast<unsigned>(tm.tm_year + 1900) % 10000;
  r.local_size = static_cast<std::size_t>(std::snprintf(r.local, sizeof r.local, "%02u/%s/%04u:%02u:%02u:%02u %c%02u%02u",
                                                        day, kMonths[month], year, hour, minute, sec, sign, away / 60,
                                                        away % 60));
  r.iso_size = static_cast<std::size_t>(std::snprintf(r.iso, sizeof r.iso, "%04u-%02u-%02uT%02u:%02u:%02u%c%02u:%02u",
                                                      year, month + 1, day, hour, minute, sec, sign, away / 60,
                                                      away % 60));
  r.second = second;
  return r;
}

}  // namespace

Value time_local(RequestContext& ctx, std::string_view) noexcept {
  const RenderedSecond& r = rendered(ctx.wall);
  return Value::of(ctx.arena.copy({r.local, r.local_size}));
}

Value time_iso8601(RequestContext& ctx, std::string_view) noexcept {
  const RenderedSecond& r = rendered(ctx.wall);
  return Value::of(ctx.arena.copy({r.iso, r.iso_size}));
}

Value msec(RequestContext& ctx, std::string_view) noexcept {
  return Value::of(seconds_text(ctx.arena, ctx.wall.time_since_epoch().count()));
}

}  // namespace sluice::sdk::getters
