// limit-count: a quota per key and window (fixed or sliding), exact across workers; several rules; quota header fields.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/limits/bypass.hpp"
#include "plugins/sdk/limits/limit_key.hpp"
#include "plugins/sdk/limits/quota_number.hpp"
#include "plugins/sdk/limits/refusal.hpp"
#include "plugins/sdk/limits/window.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/verdict.hpp"

namespace sluice::plugins::limit_count {

class LimitCount {
 public:
  using Number = sdk::QuotaNumber::Source;
  struct RuleConfig {
    Number count, time_window;
    std::string key;
    std::optional<std::string> header_prefix;
  };
  struct Config {
    std::optional<Number> count, time_window;
    std::string window_type = "fixed";
    std::vector<RuleConfig> rules;
    std::optional<std::string> group;
    std::string key = "remote_addr";
    std::string key_type = "var";
    int rejected_code = 503;
    std::optional<std::string> rejected_msg;
    std::string policy = "local";
    bool allow_degradation = false;
    bool show_limit_quota_header = true;
    std::string headers_style = "x";
    bool dry_run = false;
    std::optional<sdk::BypassConfig> bypass;
  };
  static constexpr sdk::Traits kTraits{.name = "limit-count", .priority = 1002, .version = "0.5"};
  static const schema::Table<Config>& table();
  static const schema::Node& metadata_schema();
  static std::string check_first(const Json& conf);
  static std::string check(const Json& conf);
  static Result<LimitCount> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;

  // What one more request with this key would get; nothing is counted.
  sdk::QuotaVerdict peek(std::string_view raw_key, const sdk::Quota& quota, TimePoint now, WallTime wall) const noexcept;

 private:
  struct Rule {
    sdk::QuotaNumber count, window;
    sdk::LimitKey key;
    sdk::Template text;                  // of `rules`: applies only when something resolves
    bool from_list = false;
    std::array<std::string, 3> names;    // header fields: limit, remaining, reset
  };
  struct Budget {
    const Rule* rule = nullptr;
    sdk::Quota quota;
    std::string_view key;
  };
  enum class Applies : unsigned char { yes, skipped, broken };
  Applies budget_of(const Rule& rule, sdk::RequestContext& ctx, Budget& out) const noexcept;
  sdk::QuotaVerdict count(const Budget& budget, TimePoint now, WallTime wall) const noexcept;
  void report(sdk::RequestContext& ctx, const Budget& budget, const sdk::QuotaVerdict& verdict) const noexcept;
  void set_fields(sdk::RequestContext& ctx, const Budget& budget, const sdk::QuotaVerdict& verdict) const noexcept;
  sdk::Verdict undecided(sdk::RequestContext& ctx) const noexcept;
  shm::Key record_key(std::string_view raw_key, const sdk::Quota& quota) const noexcept;

  std::vector<Rule> rules_;
  sdk::LimitPlace place_;
  sdk::Bypass bypass_;
  sdk::Refusal refusal_;
  bool sliding_ = false;
  bool allow_degradation_ = false;
  bool show_fields_ = true;
  bool x_fields_ = true;
  bool ietf_fields_ = false;
  bool dry_run_ = false;
};
using Plugin = LimitCount;

}  // namespace sluice::plugins::limit_count
