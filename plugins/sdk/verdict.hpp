// What a plugin's handler of rewrite, access or before_proxy decides.
#pragma once

#include <chrono>
#include <cstdint>

namespace sluice::sdk {

enum class Phase : std::uint8_t { rewrite, access, before_proxy, header_filter, body_filter, log };
inline constexpr int kPhaseCount = 6;
const char* phase_name(Phase phase) noexcept;

struct Verdict {
  enum class Kind : std::uint8_t { proceed, pause, reply };
  Kind kind = Kind::proceed;
  std::uint16_t status = 0;              // reply
  // pause: the request goes on after that long; the worker is never blocked. A pause with a status is a reply that is
  // held back that long: afterwards it ends the request as reply(status) would.
  std::chrono::nanoseconds delay{0};

  static constexpr Verdict proceed() noexcept { return {}; }
  static constexpr Verdict pause(std::chrono::nanoseconds d) noexcept { return {Kind::pause, 0, d}; }
  static constexpr Verdict reply_after(std::chrono::nanoseconds d, std::uint16_t status) noexcept {
    return {d.count() > 0 ? Kind::pause : Kind::reply, status, d};
  }
  constexpr bool ends_request() const noexcept { return kind == Kind::reply || status != 0; }
  // The body, if any, was put into RequestContext::reply; see RequestContext::respond.
  static constexpr Verdict reply(std::uint16_t status) noexcept { return {Kind::reply, status, {}}; }
};

}  // namespace sluice::sdk
