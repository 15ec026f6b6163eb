// The error log: one line per event, `time [level] pid#role: message`.
//
// Each process opens it once (open_log) and may reopen it (reopen_log, on USR1). Lines go out with one write(2) each,
// so that processes sharing the file never tear each other's. Secrets are never passed in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "conf/base/clock.hpp"

namespace sluice::log {

enum class Level : unsigned char { debug, info, notice, warn, error, crit, alert, emerg };

// "warn" -> Level::warn; unknown names give `fallback`.
Level parse_level(std::string_view name, Level fallback) noexcept;

// Paths as for open_log_file() (log_file.hpp). False, with errno: it cannot be opened, and the old target stays.
bool open(const std::string& path, Level threshold, std::string role);
bool reopen() noexcept;
void set_role(std::string role);
int fd() noexcept;

bool enabled(Level level) noexcept;
void write(Level level, std::string_view message) noexcept;

inline void debug(std::string_view m) noexcept { write(Level::debug, m); }
inline void info(std::string_view m) noexcept { write(Level::info, m); }
inline void notice(std::string_view m) noexcept { write(Level::notice, m); }
inline void warn(std::string_view m) noexcept { write(Level::warn, m); }
inline void error(std::string_view m) noexcept { write(Level::error, m); }
inline void crit(std::string_view m) noexcept { write(Level::crit, m); }
inline void alert(std::string_view m) noexcept { write(Level::alert, m); }

// Keeps a flood of events from becoming a flood of writes: at most `per_second` lines in each second.
class Pace {
 public:
  explicit constexpr Pace(int per_second) noexcept : per_second_(per_second) {}
  bool admit(TimePoint now) noexcept {
    const std::int64_t this_second = to_ns(now) / 1'000'000'000;
    if (this_second != second_) {
      second_ = this_second;
      lines_ = 0;
    }
    return lines_ < per_second_ && ++lines_ > 0;
  }

 private:
  int per_second_;
  int lines_ = 0;
  std::int64_t second_ = -1;
};

}  // namespace sluice::log
