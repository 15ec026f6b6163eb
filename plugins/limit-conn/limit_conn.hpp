// limit-conn: requests in flight per key, with a burst that is delayed. What a request holds is given back in its log
// phase, whichever way it ends; what a dead worker held is given back by the supervisor.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/limits/bypass.hpp"
#include "plugins/sdk/limits/limit_key.hpp"
#include "plugins/sdk/limits/quota_number.hpp"
#include "plugins/sdk/limits/refusal.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/verdict.hpp"

namespace sluice::plugins::limit_conn {

class LimitConn {
 public:
  using Number = sdk::QuotaNumber::Source;
  struct RuleConfig {
    Number conn, burst;
    std::string key;
  };
  struct Config {
    std::optional<Number> conn, burst;
    double default_conn_delay = 0;
    std::optional<std::string> key;
    std::string key_type = "var";
    std::vector<RuleConfig> rules;
    std::string policy = "local";
    int rejected_code = 503;
    std::optional<std::string> rejected_msg;
    bool allow_degradation = false;
    bool dry_run = false;
    std::optional<sdk::BypassConfig> bypass;
  };
  static constexpr sdk::Traits kTraits{.name = "limit-conn", .priority = 1003};
  static const schema::Table<Config>& table();
  static Result<LimitConn> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;
  void log(sdk::RequestContext& ctx) const noexcept;

  // How many requests with this key are in flight now.
  std::uint64_t peek(std::string_view raw_key) const noexcept;

 private:
  struct Rule {
    sdk::QuotaNumber conn, burst;
    sdk::LimitKey key;
    sdk::Template text;       // of `rules`: applies only when something resolves
    bool from_list = false;
  };
  struct Bounds {
    std::uint64_t conn = 0, burst = 0;
    std::string_view key;
  };
  enum class Applies : unsigned char { yes, skipped, broken };
  Applies bounds_of(const Rule& rule, sdk::RequestContext& ctx, Bounds& out) const noexcept;
  // The delay owed, or -1: refused.
  nanoseconds enter(sdk::RequestContext& ctx, const Bounds& bounds) const noexcept;
  sdk::Verdict undecided(sdk::RequestContext& ctx, std::string_view why) const noexcept;

  std::vector<Rule> rules_;
  sdk::LimitPlace place_;
  sdk::Bypass bypass_;
  sdk::Refusal refusal_;
  double unit_delay_ns_ = 0;
  bool allow_degradation_ = false;
  bool dry_run_ = false;
};
using Plugin = LimitConn;

}  // namespace sluice::plugins::limit_conn
