// fault-injection: delays requests, answers them with a fault, or both, for a share of them and under conditions.
//
// The delay holds the request without holding the worker; a fault that follows it is prepared before and sent after.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/expression.hpp"
#include "plugins/sdk/field_text.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::fault_injection {

class FaultInjection {
 public:
  struct AbortConfig {
    int http_status = 0;
    std::optional<std::string> body;
    schema::JsonCopy headers;
    std::optional<int> percentage;
    schema::JsonCopy vars;
  };
  struct DelayConfig {
    double duration = 0;
    std::optional<int> percentage;
    schema::JsonCopy vars;
  };
  struct Config {
    std::optional<AbortConfig> abort;
    std::optional<DelayConfig> delay;
  };
  static constexpr sdk::Traits kTraits{.name = "fault-injection", .priority = 11000};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<FaultInjection> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;

 private:
  // Who is hit: a share of the requests for which one of the alternatives holds (none given: of all).
  struct Target {
    int percentage = 100;
    std::vector<sdk::Expression> alternatives;

    bool hits(sdk::RequestContext& ctx) const noexcept;
  };
  static Result<Target> target_of(std::optional<int> percentage, const schema::JsonCopy& vars,
                                  sdk::CompileContext& context);
  void prepare_fault(sdk::RequestContext& ctx) const noexcept;

  bool aborts_ = false, delays_ = false;
  Target abort_target_, delay_target_;
  std::chrono::nanoseconds delay_{0};
  std::uint16_t status_ = 0;
  std::vector<sdk::FieldTemplate> headers_;
  std::optional<sdk::Template> body_;
};

using Plugin = FaultInjection;

}  // namespace sluice::plugins::fault_injection
