// Time as the whole program sees it. Functions that decide take it as an argument; only event loops read it.
//
// TimePoint is CLOCK_MONOTONIC in nanoseconds: shared by all processes, stored in shared memory as int64 nanoseconds.
// WallTime is for what must align to the calendar (sliding windows, log lines, create_time).
#pragma once

#include <chrono>
#include <cstdint>

namespace sluice {

using TimePoint = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

inline TimePoint monotonic_now() noexcept { return TimePoint(std::chrono::steady_clock::now()); }
inline WallTime wall_now() noexcept { return WallTime(std::chrono::system_clock::now()); }

constexpr std::int64_t to_ns(TimePoint t) noexcept { return t.time_since_epoch().count(); }
constexpr TimePoint from_ns(std::int64_t ns) noexcept { return TimePoint(nanoseconds(ns)); }

}  // namespace sluice
