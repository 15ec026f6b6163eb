#include "plugins/jwt-auth/jwt_auth.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "plugins/jwt-auth/signature.hpp"
#include "plugins/sdk/base64.hpp"

namespace sluice::plugins::jwt_auth {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

constexpr std::string_view kMissing = "{\"message\":\"Missing JWT token in request\"}\n";
constexpr std::string_view kMalformed = "{\"message\":\"JWT token invalid\"}\n";
constexpr std::string_view kNoKey = "{\"message\":\"missing user key in JWT token\"}\n";
constexpr std::string_view kUnknownKey = "{\"message\":\"Invalid user key in JWT token\"}\n";
constexpr std::string_view kUnverified = "{\"message\":\"failed to verify jwt\"}\n";
constexpr std::size_t kMaxToken = 16 * 1024;
const JsonLimits kLimits{.max_bytes = kMaxToken, .max_depth = 16};

struct Secret {
  Verifier verifier;
  std::int64_t grace = 0;
};

bool is_shared(std::string_view algorithm) noexcept { return algorithm.starts_with("HS"); }

std::string_view member(const Json& conf, std::string_view name) noexcept {
  const Json* value = find(conf, name);
  return value == nullptr ? std::string_view() : text_of(*value);
}

bool is_true(const Json& conf, std::string_view name) noexcept {
  const Json* value = find(conf, name);
  return value != nullptr && value->IsTrue();
}

Result<Verifier> verifier_of(const Json& conf) {
  const std::string_view algorithm = member(conf, "algorithm");
  if (!is_shared(algorithm)) return Verifier::compile(algorithm, member(conf, "public_key"));
  if (!is_true(conf, "base64_secret")) return Verifier::compile(algorithm, member(conf, "secret"));
  const auto decoded = sdk::base64_decode(member(conf, "secret"));
  if (!decoded) return invalid("base64_secret required but the secret is not in base64 format");
  return Verifier::compile(algorithm, *decoded);
}

std::optional<JsonDoc> decoded_json(sdk::Arena& arena, std::string_view part) noexcept {
  const auto text = sdk::base64url_decode(arena, part);
  if (!text) return std::nullopt;
  auto doc = parse_json(*text, kLimits);
  if (!doc || !doc->IsObject()) return std::nullopt;
  return std::move(*doc);
}

}  // namespace

const schema::Table<JwtAuth::Config>& JwtAuth::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("header", &Config::header,
                 string().default_value("authorization").doc("field that is looked at first"))
          .field("query", &Config::query, string().default_value("jwt").doc("query argument, next"))
          .field("cookie", &Config::cookie, string().default_value("jwt").doc("cookie, last"))
          .field("hide_credentials", &Config::hide_credentials,
                 boolean().default_value(false).doc("take the token out before the request goes upstream"))
          .field("key_claim_name", &Config::key_claim_name,
                 string().min_length(1).default_value("key").doc("claim that names the consumer's key"))
          .field("store_in_ctx", &Config::store_in_ctx, boolean().default_value(false).doc("accepted, without effect"))
          .field("realm", &Config::realm, sdk::realm_field("jwt"))
          .field("anonymous_consumer", &Config::anonymous_consumer, sdk::anonymous_consumer_field())
          .field("claims_to_verify", &Config::claims_to_verify,
                 array(string().one_of_values({"exp", "nbf"})).unique().doc("claims that must be there and hold"))
          .refine(&sdk::titled_route_side);
  return kTable;
}

const schema::Node& JwtAuth::consumer_schema() {
  using namespace schema;
  static const Node kNode = [] {
    const Node algorithm = string()
                               .one_of_values({"HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "ES256", "ES384",
                                               "ES512", "PS256", "PS384", "PS512", "EdDSA"})
                               .default_value("HS256");
    const Node with_public =
        Node()
            .property("public_key", string())
            .property("algorithm", string().one_of_values({"RS256", "RS384", "RS512", "ES256", "ES384", "ES512",
                                                           "PS256", "PS384", "PS512", "EdDSA"}))
            .require({"public_key"});
    const Node with_secret =
        Node().property("algorithm", string().one_of_values({"HS256", "HS384", "HS512"}).default_value("HS256"));
    return sdk::titled_consumer_side(
        object()
            .property("key", string().min_length(1).doc("what the key claim names"), required)
            .property("secret", string().min_length(1).encrypted().doc("shared secret of HS algorithms"))
            .property("algorithm", algorithm.doc("algorithm of the signature"))
            .property("exp", integer().at_least(1).default_value(86400).doc("accepted, without effect"))
            .property("base64_secret", boolean().default_value(false).doc("secret is base64"))
            .property("lifetime_grace_period",
                      integer().at_least(0).default_value(0).doc("seconds of leeway for exp and nbf"))
            .property("public_key", string().doc("PEM; for all but HS algorithms"))
            .depends("algorithm", one_of({with_secret, with_public})));
  }();
  return kNode;
}

std::string JwtAuth::check_consumer(const Json& conf) {
  const bool shared = is_shared(member(conf, "algorithm"));
  if (shared && member(conf, "secret").empty()) return "property \"secret\" is required when using HS based algorithms";
  if (schema::is_secret_reference(member(conf, shared ? "secret" : "public_key"))) return {};
  const auto made = verifier_of(conf);
  return made ? std::string() : made.error().reason;
}

Result<std::shared_ptr<const void>> JwtAuth::compile_consumer(const Json& conf) {
  auto verifier = verifier_of(conf);
  if (!verifier) return verifier.error();
  const Json* grace = find(conf, "lifetime_grace_period");
  return std::shared_ptr<const void>(std::make_shared<const Secret>(
      Secret{std::move(*verifier), grace != nullptr && grace->IsInt64() ? grace->GetInt64() : 0}));
}

Result<JwtAuth> JwtAuth::compile(Config config, sdk::CompileContext& context) {
  JwtAuth made;
  made.query_value_ = context.variable("arg_" + config.query);
  made.cookie_value_ = context.variable("cookie_" + config.cookie);
  made.header_ = std::move(config.header);
  made.query_ = std::move(config.query);
  made.cookie_ = std::move(config.cookie);
  made.key_claim_ = std::move(config.key_claim_name);
  made.hide_ = config.hide_credentials;
  made.challenge_ = sdk::Challenge("Bearer", config.realm, std::move(config.anonymous_consumer));
  const auto& claims = config.claims_to_verify;
  if (!claims.empty()) {
    made.must_exp_ = made.check_exp_ = std::find(claims.begin(), claims.end(), "exp") != claims.end();
    made.must_nbf_ = made.check_nbf_ = std::find(claims.begin(), claims.end(), "nbf") != claims.end();
  }
  return made;
}

std::string_view JwtAuth::find_token(RequestContext& ctx, Place& place) const noexcept {
  if (const auto field = ctx.request_headers.get(header_)) {
    place = Place::header;
    const bool prefixed = field->starts_with("Bearer ") || field->starts_with("bearer ");
    return prefixed ? field->substr(7) : *field;
  }
  if (const sdk::Value argument = query_value_.get(ctx); argument.exists()) {
    place = Place::query;
    return argument.text;
  }
  if (const sdk::Value cookie = cookie_value_.get(ctx); cookie.exists()) {
    place = Place::cookie;
    return cookie.text;
  }
  place = Place::none;
  return {};
}

bool JwtAuth::claims_hold(const Json& payload, std::int64_t now, std::int64_t grace) const noexcept {
  const auto holds = [&](const char* name, bool looked_at, bool must, auto in_time) {
    const Json* claim = looked_at ? find(payload, name) : nullptr;
    if (claim == nullptr) return !must;
    return claim->IsNumber() && in_time(claim->GetDouble());
  };
  const auto at = static_cast<double>(now), leeway = static_cast<double>(grace);
  return holds("exp", check_exp_, must_exp_, [&](double exp) { return exp > at - leeway; }) &&
         holds("nbf", check_nbf_, must_nbf_, [&](double nbf) { return nbf < at + leeway; });
}

std::string_view JwtAuth::refusal(RequestContext& ctx, std::string_view token) const noexcept {
  const auto first = token.find('.');
  const auto second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) return kMalformed;
  if (token.size() > kMaxToken) return kMalformed;
  const auto header = decoded_json(ctx.arena, token.substr(0, first));
  const auto payload = decoded_json(ctx.arena, token.substr(first + 1, second - first - 1));
  const auto signature = sdk::base64url_decode(ctx.arena, token.substr(second + 1));
  if (!header || !payload || !signature) return kMalformed;
  const Json* key = find(*payload, key_claim_);
  if (key == nullptr || !key->IsString()) return kNoKey;
  const sdk::Identity* who = ctx.consumers == nullptr ? nullptr : ctx.consumers->find("jwt-auth", text_of(*key));
  const auto* secret = who == nullptr ? nullptr : static_cast<const Secret*>(who->secret.get());
  if (secret == nullptr) return kUnknownKey;
  // The consumer's algorithm decides, never the token's: a public key must not serve as a shared secret.
  if (member(*header, "alg") != secret->verifier.algorithm()) return kUnverified;
  if (!secret->verifier.verify(ctx.arena, token.substr(0, second), *signature)) return kUnverified;
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(ctx.wall.time_since_epoch()).count();
  if (!claims_hold(*payload, now, secret->grace)) return kUnverified;
  sdk::attach(ctx, *who);
  return {};
}

void JwtAuth::hide(RequestContext& ctx, Place place) const noexcept {
  if (place == Place::header) ctx.request_headers.remove(header_);
  if (place == Place::query) sdk::hide_argument(ctx, query_);
  if (place == Place::cookie) sdk::hide_cookie(ctx, cookie_);
}

Verdict JwtAuth::rewrite(RequestContext& ctx) const noexcept {
  Place place = Place::none;
  const std::string_view token = find_token(ctx, place);
  const std::string_view reason = place == Place::none ? kMissing : refusal(ctx, token);
  const Verdict verdict = reason.empty() ? Verdict::proceed() : challenge_.fail(ctx, reason);
  if (hide_ && !verdict.ends_request()) hide(ctx, place);
  return verdict;
}

}  // namespace sluice::plugins::jwt_auth
