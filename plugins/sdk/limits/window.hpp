// Quota per window, in two algorithms.
//
// Fixed: the window belongs to the key and starts with its first request; what is counted is consumption, upwards, and
// refused requests count too (they do not move the window's end).
//
// Sliding: two windows aligned to the calendar. The previous one weighs as much as of it still lies inside the last W:
//
//     estimate = min(previous, count) * rest / W + current          rest = time left in the current window
//
// A request is refused while current >= count or estimate >= count, before it is counted. Both counts live in one
// record, so the decision is exact across workers. Compared in integers (nanoseconds times requests, 128 bits).
//
// Two departures: what is left is never shown below zero, and after a refusal waiting `reset` helps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "conf/base/clock.hpp"

namespace sluice::sdk {

struct Quota {
  std::uint64_t count = 0;    // per window, above zero
  std::uint64_t seconds = 1;  // of the window, above zero

  static constexpr std::uint64_t kMostSeconds = 4'000'000'000;  // what is longer is timed as this: 126 years
  std::int64_t window_ns() const noexcept {
    return static_cast<std::int64_t>(std::min(seconds, kMostSeconds)) * 1'000'000'000;
  }
};

struct QuotaVerdict {
  bool admitted = false;
  std::uint64_t used = 0;              // counted in the (current) window, this request included when admitted
  std::uint64_t remaining = 0;
  std::uint64_t reset_hundredths = 0;  // of a second
};

constexpr std::uint64_t hundredths_down(std::int64_t ns) noexcept {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0) / 10'000'000);
}
constexpr std::uint64_t hundredths_up(std::int64_t ns) noexcept {
  return static_cast<std::uint64_t>((std::max<std::int64_t>(ns, 0) + 9'999'999) / 10'000'000);
}

// ---- fixed
struct FixedWindow {
  std::uint64_t used = 0;
  std::int64_t ends_ns = 0;   // monotonic
};

// Counts `cost` and judges. `window` becomes what is to be stored; it lives until ends_ns.
inline QuotaVerdict charge(FixedWindow& window, bool fresh, const Quota& quota, std::uint64_t cost,
                           TimePoint now) noexcept {
  QuotaVerdict v;
  fresh = fresh || to_ns(now) >= window.ends_ns;
  if (fresh) window = {0, to_ns(now) + quota.window_ns()};
  window.used = window.used > UINT64_MAX - cost ? UINT64_MAX : window.used + cost;
  v.used = window.used;
  v.admitted = window.used <= quota.count;
  v.remaining = v.admitted ? quota.count - window.used : 0;
  const std::int64_t left = window.ends_ns - to_ns(now);
  v.reset_hundredths = v.admitted ? hundredths_down(left) : hundredths_up(left);
  return v;
}

// ---- sliding
struct SlidingWindow {
  std::uint64_t id = 0;        // of the current window: wall clock / W
  std::uint64_t current = 0;
  std::uint64_t previous = 0;
};

inline QuotaVerdict charge(SlidingWindow& window, bool fresh, const Quota& quota, std::uint64_t cost,
                           WallTime wall) noexcept {
  __extension__ typedef unsigned __int128 Wide;
  const auto width = static_cast<std::uint64_t>(quota.window_ns());
  const auto at = static_cast<std::uint64_t>(std::max<std::int64_t>(wall.time_since_epoch().count(), 0));
  const std::uint64_t id = at / width;
  const std::uint64_t rest = width - at % width;
  if (fresh) window = {id, 0, 0};
  if (id == window.id + 1) window = {id, 0, window.current};
  if (id > window.id) window = {id, 0, 0};
  // A clock that went back keeps counting in the newer window.

  QuotaVerdict v;
  const std::uint64_t last = std::min(window.previous, quota.count);
  const Wide weighted = Wide{last} * rest;
  const bool full = window.current >= quota.count;
  v.admitted = !full && weighted + Wide{window.current} * width < Wide{quota.count} * width;
  if (v.admitted) {
    window.current += cost;
    const Wide spent = Wide{window.current} + (weighted + width - 1) / width;
    v.remaining = spent < quota.count ? static_cast<std::uint64_t>(quota.count - spent) : 0;
    v.reset_hundredths = hundredths_up(static_cast<std::int64_t>(rest));
  } else {
    // Admitted again when the previous window weighs less than what is free now, or right after the window's end.
    const std::uint64_t until = full ? 0 : static_cast<std::uint64_t>(Wide{quota.count - window.current} * width / last);
    const std::uint64_t wait = rest > until ? rest - until : 0;
    v.reset_hundredths = std::min(hundredths_down(static_cast<std::int64_t>(wait)) + 1,
                                  hundredths_up(static_cast<std::int64_t>(width)));
  }
  v.used = window.current;
  return v;
}

// When the record has nothing more to say: the window after the next has begun.
inline TimePoint forgettable(const SlidingWindow&, const Quota& quota, TimePoint now) noexcept {
  return from_ns(to_ns(now) + 2 * quota.window_ns());
}

}  // namespace sluice::sdk
