// hmac-auth: requests signed by a key that consumer and gateway share.
//
// Signed are the method and target, the header fields that the client lists, and (when asked for) a digest of the body.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/authentication.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::plugins::hmac_auth {

class HmacAuth {
 public:
  struct Config {
    std::vector<std::string> allowed_algorithms;
    std::int64_t clock_skew = 300;
    std::vector<std::string> signed_headers;
    bool validate_request_body = false;
    std::uint64_t max_req_body_size = 64u << 20;
    bool hide_credentials = false;
    std::string anonymous_consumer;
    std::string realm = "hmac";
  };
  static constexpr sdk::Traits kTraits{.name = "hmac-auth", .priority = 2530, .kind = sdk::PluginKind::auth};

  static const schema::Table<Config>& table();
  static const schema::Node& consumer_schema();
  static std::string_view consumer_key_field() { return "key_id"; }
  static Result<std::shared_ptr<const void>> compile_consumer(const Json& conf);
  static Result<HmacAuth> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;
  sdk::BodyNeeds body_needs() const noexcept;

 private:
  struct Claim;  // what the Authorization field says
  std::string_view signed_text(sdk::RequestContext& ctx, const Claim& claim) const noexcept;
  bool holds(sdk::RequestContext& ctx, const Claim& claim, std::string_view key) const noexcept;
  bool body_matches(sdk::RequestContext& ctx) const noexcept;

  std::vector<std::string> algorithms_, signed_headers_;
  std::int64_t skew_ = 300;
  bool check_body_ = false;
  std::uint64_t max_body_ = 0;
  bool hide_ = false;
  sdk::Variable request_uri_;
  sdk::Challenge challenge_;
};

using Plugin = HmacAuth;

}  // namespace sluice::plugins::hmac_auth
