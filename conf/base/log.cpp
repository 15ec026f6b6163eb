// The error log behind log.hpp.
//
// A line is put together in a buffer on the stack and leaves with one write(2) on a descriptor opened with O_APPEND:
// lines of several processes never mix, and a message longer than the buffer is cut, not split. Control characters are
// printed as spaces, so that a value from the network cannot forge a second line. The same message over and over is
// held back: after kRepeatBurst in a row it is counted, and the count goes out with the next different one or after
// a second.
#include "conf/base/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>

#include "conf/base/clock.hpp"
#include "conf/base/log_file.hpp"

namespace sluice::log {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"debug", "info", "notice", "warn",
                                                    "error", "crit", "alert",  "emerg"};
constexpr std::size_t kLineBytes = 4096;
constexpr unsigned kRepeatBurst = 20;

struct State {
  std::string path = "stderr";
  char role[32] = "sluice";
  std::atomic<int> fd{STDERR_FILENO};
  std::atomic<Level> threshold{Level::notice};
  // Repeat filter. Writers on other threads (the store) may race here: the worst outcome is one line too many.
  std::atomic<std::size_t> last_hash{0};
  std::atomic<unsigned> repeats{0};
  std::atomic<std::int64_t> repeat_since_ns{0};
};

State& state() noexcept {
  static State s;
  return s;
}

void put_line(Level level, std::string_view message) noexcept {
  char line[kLineBytes];
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  int n = std::snprintf(line, sizeof line, "%04d/%02d/%02d %02d:%02d:%02d.%03d [%s] %d#%s: ", parts.tm_year + 1900,
                        parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                        static_cast<int>(now.tv_nsec / 1000000), kNames[static_cast<std::size_t>(level)].data(),
                        static_cast<int>(getpid()), state().role);
  std::size_t used = n > 0 ? std::min(static_cast<std::size_t>(n), sizeof line - 1) : 0;
  for (char c : message) {
    if (used + 1 >= sizeof line) break;
    line[used++] = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  line[used++] = '\n';
  const int saved = errno;
  while (::write(state().fd.load(std::memory_order_relaxed), line, used) < 0 && errno == EINTR) {
  }
  errno = saved;
}

// True when the line should go out now.
bool admit(Level level, std::string_view message) noexcept {
  State& s = state();
  const std::size_t hash = std::hash<std::string_view>{}(message) | 1u;
  const std::int64_t now = to_ns(monotonic_now());
  const bool same = s.last_hash.load(std::memory_order_relaxed) == hash;
  const bool fresh = now - s.repeat_since_ns.load(std::memory_order_relaxed) > 1'000'000'000;
  if (same && !fresh) return s.repeats.fetch_add(1, std::memory_order_relaxed) < kRepeatBurst;
  const unsigned seen = s.repeats.exchange(0, std::memory_order_relaxed);
  s.last_hash.store(hash, std::memory_order_relaxed);
  s.repeat_since_ns.store(now, std::memory_order_relaxed);
  if (seen > kRepeatBurst) {
    char text[64];
    std::snprintf(text, sizeof text, "last message repeated %u more times", seen - kRepeatBurst);
    put_line(level, text);
  }
  return true;
}

}  // namespace

Level parse_level(std::string_view name, Level fallback) noexcept {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Level>(i);
  if (name == "warning") return Level::warn;
  return fallback;
}

bool open(const std::string& path, Level threshold, std::string role) {
  set_role(std::move(role));
  const int fresh = open_log_file(path);
  if (fresh < 0) return false;
  State& s = state();
  const int old = s.fd.exchange(fresh);
  s.path = path;
  s.threshold = threshold;
  if (old != fresh && old != STDERR_FILENO) ::close(old);
  return true;
}

bool reopen() noexcept {
  State& s = state();
  const int fresh = open_log_file(s.path);
  if (fresh < 0) return false;
  const int old = s.fd.exchange(fresh);
  if (old != fresh && old != STDERR_FILENO) ::close(old);
  return true;
}

void set_role(std::string role) { std::snprintf(state().role, sizeof state().role, "%s", role.c_str()); }

int fd() noexcept { return state().fd; }

bool enabled(Level level) noexcept { return level >= state().threshold.load(std::memory_order_relaxed); }

void write(Level level, std::string_view message) noexcept {
  if (!enabled(level)) return;
  if (admit(level, message)) put_line(level, message);
}

}  // namespace sluice::log
