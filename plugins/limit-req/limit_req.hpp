// limit-req: a sustained request rate per key, with a burst that is delayed (leaky bucket, exact across workers).
#pragma once

#include <optional>
#include <string>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/limits/bypass.hpp"
#include "plugins/sdk/limits/leaky_bucket.hpp"
#include "plugins/sdk/limits/limit_key.hpp"
#include "plugins/sdk/limits/refusal.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/verdict.hpp"

namespace sluice::plugins::limit_req {

class LimitReq {
 public:
  struct Config {
    double rate = 0;
    double burst = 0;
    std::string key;
    std::string key_type = "var";
    std::string policy = "local";
    int rejected_code = 503;
    std::optional<std::string> rejected_msg;
    bool nodelay = false;
    bool dry_run = false;
    std::optional<sdk::BypassConfig> bypass;
  };
  static constexpr sdk::Traits kTraits{.name = "limit-req", .priority = 1001};
  static const schema::Table<Config>& table();
  static Result<LimitReq> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;

  // What a request with this key would get at `now`; nothing is counted.
  sdk::LeakyVerdict peek(std::string_view raw_key, TimePoint now) const noexcept;

 private:
  sdk::LeakyVerdict decide(std::string_view raw_key, TimePoint now) const noexcept;

  sdk::LeakyRate rate_;
  sdk::LimitKey key_;
  sdk::LimitPlace place_;
  sdk::Bypass bypass_;
  sdk::Refusal refusal_;
  bool nodelay_ = false;
  bool dry_run_ = false;
};
using Plugin = LimitReq;

}  // namespace sluice::plugins::limit_req
