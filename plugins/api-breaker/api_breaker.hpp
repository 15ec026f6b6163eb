// api-breaker: a circuit breaker per route. Failures of the upstream open it for a time that doubles with every further
// round of failures; while it is open, requests are answered here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/field_text.hpp"
#include "plugins/sdk/limits/limit_key.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/verdict.hpp"

namespace sluice::plugins::api_breaker {

// What shared memory keeps of a route.
struct Circuit {
  std::uint64_t failures = 0;      // since the last recovery; never more than the window apart
  std::uint64_t successes = 0;     // in a row, after failures
  std::int64_t opened_ns = 0;      // monotonic; 0: not open since the last recovery
};

class ApiBreaker {
 public:
  struct HeaderConfig {
    std::string key, value;
  };
  struct UnhealthyConfig {
    std::vector<int> http_statuses;
    std::int64_t failures = 3;
  };
  struct HealthyConfig {
    std::vector<int> http_statuses;
    std::int64_t successes = 3;
  };
  struct Config {
    int break_response_code = 0;
    std::optional<std::string> break_response_body;
    std::vector<HeaderConfig> break_response_headers;
    std::int64_t max_breaker_sec = 300;
    UnhealthyConfig unhealthy;
    HealthyConfig healthy;
  };
  static constexpr sdk::Traits kTraits{.name = "api-breaker", .priority = 1005};
  static const schema::Table<Config>& table();
  static Result<ApiBreaker> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;
  void log(sdk::RequestContext& ctx) const noexcept;

  // Until when requests of the route are answered here; nothing: it is closed.
  std::optional<TimePoint> peek(std::string_view route_id, TimePoint now) const noexcept;

 private:
  TimePoint open_until(const Circuit& circuit) const noexcept;
  void note(std::string_view route_id, bool failed, TimePoint now) const noexcept;

  sdk::LimitPlace place_;
  std::uint16_t status_ = 0;
  std::optional<std::string> body_;
  std::vector<sdk::FieldTemplate> fields_;
  std::int64_t longest_s_ = 300;
  std::uint64_t failures_ = 3, successes_ = 3;
  std::vector<int> unhealthy_, healthy_;   // sorted
};
using Plugin = ApiBreaker;

}  // namespace sluice::plugins::api_breaker
