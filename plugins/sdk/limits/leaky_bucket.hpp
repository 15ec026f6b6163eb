// The leaky bucket: a sustained rate, and an excess over it that is delayed or refused.
//
// Per key two numbers: `excess`, how far the key is ahead of its rate, and `last`, when a request was last admitted. A
// request at `now` finds
//
//     e = max(excess - rate * (now - last) + 1, 0)            the first one of a key: e = 0
//
// e > burst: refused, and nothing is written, so that refusals never make anybody wait longer. Otherwise excess = e,
// last = now, and the request owes a delay of e / rate.
//
// Units: time in nanoseconds, excess in thousand-millionths of a request. With a whole rate the product rate * elapsed
// is then exact at any speed (a millisecond clock would lose two thirds of 3,000 requests a second); a fractional rate
// is rounded to the nearest unit. An interval below zero counts as zero: a clock that is behind gives nothing and takes
// nothing. Idle time is not banked: e never goes below zero.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "conf/base/clock.hpp"

namespace sluice::sdk {

// In shared memory. One record, so that both numbers always belong together.
struct LeakyBucket {
  std::int64_t excess_nano = 0;
  std::int64_t last_ns = 0;
};

struct LeakyRate {
  static constexpr double kRequest = 1e9;         // units per request
  static constexpr std::int64_t kMost = std::int64_t{1} << 62;

  double per_second = 1;                          // above zero
  std::int64_t burst_nano = 0;

  static LeakyRate of(double rate, double burst) noexcept {
    return {rate, clamped(burst * kRequest)};
  }
  static std::int64_t clamped(double units) noexcept {
    return units >= static_cast<double>(kMost) ? kMost : std::llround(units);
  }
};

struct LeakyVerdict {
  bool admitted = false;
  std::int64_t excess_nano = 0;   // e
  nanoseconds delay{0};           // e / rate, of an admitted request

  double excess() const noexcept { return static_cast<double>(excess_nano) / LeakyRate::kRequest; }
};

// What a request at `now` gets. Pure: writes nothing.
inline LeakyVerdict decide(const LeakyBucket& bucket, bool fresh, const LeakyRate& rate, TimePoint now) noexcept {
  LeakyVerdict v;
  if (!fresh) {
    const auto elapsed = static_cast<double>(std::max<std::int64_t>(to_ns(now) - bucket.last_ns, 0));
    const std::int64_t drained = LeakyRate::clamped(rate.per_second * elapsed);
    v.excess_nano = std::max<std::int64_t>(bucket.excess_nano - drained + static_cast<std::int64_t>(LeakyRate::kRequest), 0);
  }
  v.admitted = v.excess_nano <= rate.burst_nano;
  if (v.admitted) v.delay = nanoseconds(LeakyRate::clamped(static_cast<double>(v.excess_nano) / rate.per_second));
  return v;
}

// The bucket after an admitted request.
inline LeakyBucket after(const LeakyBucket& bucket, const LeakyVerdict& v, TimePoint now) noexcept {
  return {v.excess_nano, std::max(bucket.last_ns, to_ns(now))};
}

// From when on the record says no more than no record does (a first request finds e = 0 in either case).
inline TimePoint forgettable(const LeakyBucket& bucket, const LeakyRate& rate) noexcept {
  const double idle = (static_cast<double>(bucket.excess_nano) + LeakyRate::kRequest) / rate.per_second;
  const std::int64_t ns = LeakyRate::clamped(std::ceil(idle));
  return from_ns(bucket.last_ns > LeakyRate::kMost - ns ? LeakyRate::kMost : bucket.last_ns + ns);
}

}  // namespace sluice::sdk
