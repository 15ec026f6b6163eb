// jwt-auth: JSON Web Tokens signed by a consumer's key, in a header field, a query argument or a cookie.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/authentication.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::plugins::jwt_auth {

class JwtAuth {
 public:
  struct Config {
    std::string header = "authorization";
    std::string query = "jwt";
    std::string cookie = "jwt";
    bool hide_credentials = false;
    std::string key_claim_name = "key";
    bool store_in_ctx = false;
    std::string realm = "jwt";
    std::string anonymous_consumer;
    std::vector<std::string> claims_to_verify;
  };
  static constexpr sdk::Traits kTraits{.name = "jwt-auth", .priority = 2510, .kind = sdk::PluginKind::auth};

  static const schema::Table<Config>& table();
  static const schema::Node& consumer_schema();
  static std::string_view consumer_key_field() { return "key"; }
  static std::string check_consumer(const Json& conf);
  static Result<std::shared_ptr<const void>> compile_consumer(const Json& conf);
  static Result<JwtAuth> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;

 private:
  enum class Place : std::uint8_t { none, header, query, cookie };
  std::string_view find_token(sdk::RequestContext& ctx, Place& place) const noexcept;
  std::string_view refusal(sdk::RequestContext& ctx, std::string_view token) const noexcept;  // empty: attached
  bool claims_hold(const Json& payload, std::int64_t now, std::int64_t grace) const noexcept;
  void hide(sdk::RequestContext& ctx, Place place) const noexcept;

  std::string header_, query_, cookie_, key_claim_;
  sdk::Variable query_value_, cookie_value_;
  bool hide_ = false;
  bool must_exp_ = false, must_nbf_ = false;  // claims that have to be there
  bool check_exp_ = true, check_nbf_ = true;  // claims that are looked at
  sdk::Challenge challenge_;
};

using Plugin = JwtAuth;

}  // namespace sluice::plugins::jwt_auth
