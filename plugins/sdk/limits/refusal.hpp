// The answer of a limiter that refuses, and the log lines of one that cannot decide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/verdict.hpp"

namespace sluice::sdk {

class Refusal {
 public:
  Refusal() = default;
  Refusal(int status, const std::optional<std::string>& message);
  Verdict answer(RequestContext& ctx) const noexcept {
    return body_.empty() ? ctx.respond(status_) : ctx.respond(status_, body_);
  }

 private:
  std::uint16_t status_ = 503;
  std::string body_;      // {"error_msg":"…"} and a newline; empty: the stock page
};

// An error line, at most ten a second and process.
void log_limit_problem(std::string_view plugin, std::string_view what, std::string_view detail, TimePoint now) noexcept;

}  // namespace sluice::sdk
