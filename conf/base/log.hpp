// The error log: one line per event, `time [level] pid#role: message`.
//
// Each process opens it once (open_log) and may reopen it (reopen_log, on USR1). Lines go out with one write(2) each,
// so that processes sharing the file never tear each other's. Secrets are never passed in.
#pragma once

#include <string>
#include <string_view>

namespace sluice::log {

enum class Level : unsigned char { debug, info, notice, warn, error, crit, alert, emerg };

// "warn" -> Level::warn; unknown names give `fallback`.
Level parse_level(std::string_view name, Level fallback) noexcept;

// path "stderr" (or /dev/stderr) writes there. Returns false and keeps the old target when it cannot be opened.
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

}  // namespace sluice::log
