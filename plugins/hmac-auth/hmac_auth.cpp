#include "plugins/hmac-auth/hmac_auth.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "conf/base/constant_time.hpp"
#include "conf/base/text.hpp"
#include "plugins/sdk/base64.hpp"
#include "plugins/sdk/digest.hpp"
#include "plugins/sdk/http_date.hpp"
#include "plugins/sdk/json_text.hpp"

namespace sluice::plugins::hmac_auth {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

constexpr std::string_view kMissing =
    "{\"message\":\"client request can't be validated: missing Authorization header\"}\n";
constexpr std::string_view kOtherScheme =
    "{\"message\":\"client request can't be validated: Authorization header does not start with 'Signature'\"}\n";
constexpr std::string_view kRefused = "{\"message\":\"client request can't be validated\"}\n";
constexpr std::string_view kScheme = "Signature";
constexpr std::size_t kMaxListed = 100;  // names in `headers`

struct Secret {
  std::string key;
};

std::optional<sdk::Hash> hash_of(std::string_view algorithm) noexcept {
  if (algorithm == "hmac-sha1") return sdk::Hash::sha1;
  if (algorithm == "hmac-sha256") return sdk::Hash::sha256;
  if (algorithm == "hmac-sha512") return sdk::Hash::sha512;
  return std::nullopt;
}

// Calls `each` with every name that stands between blanks; ends early when it says false.
template <class Each>
bool for_each_name(std::string_view list, Each each) noexcept {
  while (!(list = text::trim(list)).empty()) {
    const auto blank = list.find(' ');
    if (!each(list.substr(0, blank))) return false;
    list = blank == std::string_view::npos ? std::string_view() : list.substr(blank);
  }
  return true;
}

}  // namespace

struct HmacAuth::Claim {
  std::string_view key_id, algorithm, headers, signature;

  // `name="value"` pairs separated by commas, after the scheme.
  static Claim parse(std::string_view text) noexcept {
    Claim claim;
    while (!(text = text::trim(text)).empty()) {
      const auto open = text.find("=\"");
      const auto close = open == std::string_view::npos ? open : text.find('"', open + 2);
      if (close == std::string_view::npos) break;
      const std::string_view name = text.substr(0, open), value = text.substr(open + 2, close - open - 2);
      if (name == "keyId") claim.key_id = value;
      if (name == "algorithm") claim.algorithm = value;
      if (name == "headers") claim.headers = value;
      if (name == "signature") claim.signature = value;
      text = text::trim(text.substr(close + 1));
      if (text.starts_with(',')) text.remove_prefix(1);
    }
    return claim;
  }
};

const schema::Table<HmacAuth::Config>& HmacAuth::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("allowed_algorithms", &Config::allowed_algorithms,
                 array(string().one_of_values({"hmac-sha1", "hmac-sha256", "hmac-sha512"}))
                     .min_items(1)
                     .default_json(R"(["hmac-sha1","hmac-sha256","hmac-sha512"])")
                     .doc("algorithms that are accepted"))
          .field("clock_skew", &Config::clock_skew,
                 integer().at_least(1).default_value(300).doc("seconds that Date may differ from the gateway's time"))
          .field("signed_headers", &Config::signed_headers,
                 array(string().min_length(1).max_length(50))
                     .default_json(R"(["date"])")
                     .doc("fields that must be signed"))
          .field("validate_request_body", &Config::validate_request_body,
                 boolean().default_value(false).doc("compare the body with the Digest field"))
          .field("max_req_body_size", &Config::max_req_body_size,
                 integer().at_least(1).default_value(67108864).doc("octets of a body that is compared"))
          .field("hide_credentials", &Config::hide_credentials,
                 boolean().default_value(false).doc("take Authorization out before the request goes upstream"))
          .field("realm", &Config::realm, sdk::realm_field("hmac"))
          .field("anonymous_consumer", &Config::anonymous_consumer, sdk::anonymous_consumer_field())
          .refine(&sdk::titled_route_side);
  return kTable;
}

const schema::Node& HmacAuth::consumer_schema() {
  static const schema::Node kNode = sdk::titled_consumer_side(
      schema::object()
          .property("key_id", schema::string().min_length(1).max_length(256).doc("name of the key"), schema::required)
          .property("secret_key", schema::string().min_length(1).max_length(256).encrypted().doc("the key"),
                    schema::required));
  return kNode;
}

Result<std::shared_ptr<const void>> HmacAuth::compile_consumer(const Json& conf) {
  return std::shared_ptr<const void>(
      std::make_shared<const Secret>(Secret{std::string(text_of(*find(conf, "secret_key")))}));
}

Result<HmacAuth> HmacAuth::compile(Config config, sdk::CompileContext& context) {
  HmacAuth made;
  made.algorithms_ = std::move(config.allowed_algorithms);
  made.signed_headers_ = std::move(config.signed_headers);
  made.skew_ = config.clock_skew;
  made.check_body_ = config.validate_request_body;
  made.max_body_ = config.max_req_body_size;
  made.hide_ = config.hide_credentials;
  made.request_uri_ = context.variable("request_uri");
  made.challenge_ = sdk::Challenge("hmac", config.realm, std::move(config.anonymous_consumer));
  return made;
}

sdk::BodyNeeds HmacAuth::body_needs() const noexcept {
  return {.request_body = check_body_, .request_body_max = check_body_ ? max_body_ : 0};
}

// Two passes, size and octets: what a client lists must not make the gateway copy the same text over and over.
std::string_view HmacAuth::signed_text(RequestContext& ctx, const Claim& claim) const noexcept {
  const auto each_piece = [&](auto put) {
    put(claim.key_id);
    put("\n");
    for_each_name(claim.headers, [&](std::string_view name) {
      if (const auto value = ctx.request_headers.get(name)) {
        put(name);
        put(": ");
        put(*value);
        put("\n");
      } else if (name == "@request-target") {
        put(ctx.method);
        put(" ");
        put(request_uri_.get(ctx).text);
        put("\n");
      }
      return true;
    });
  };
  std::size_t size = 0;
  each_piece([&size](std::string_view piece) { size += piece.size(); });
  char* const begin = static_cast<char*>(ctx.arena.allocate(size, 1));
  char* at = begin;
  each_piece([&at](std::string_view piece) {
    if (!piece.empty()) std::memcpy(at, piece.data(), piece.size());
    at += piece.size();
  });
  return {begin, size};
}

bool HmacAuth::holds(RequestContext& ctx, const Claim& claim, std::string_view key) const noexcept {
  std::size_t listed = 0;
  for_each_name(claim.headers, [&listed](std::string_view) { return ++listed <= kMaxListed; });
  const auto hash = hash_of(claim.algorithm);
  if (listed > kMaxListed || !hash ||
      std::find(algorithms_.begin(), algorithms_.end(), claim.algorithm) == algorithms_.end())
    return false;
  const sdk::Field* date = ctx.request_headers.find(sdk::FieldId::date);
  const auto when = date == nullptr ? std::nullopt : sdk::parse_http_date(date->value);
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(ctx.wall.time_since_epoch()).count();
  if (!when || std::abs(now - *when) > skew_) return false;
  for (const std::string& wanted : signed_headers_)
    if (for_each_name(claim.headers, [&](std::string_view name) { return name != wanted; })) return false;
  const std::string_view expected =
      sdk::base64_encode(ctx.arena, sdk::hmac(ctx.arena, *hash, key, signed_text(ctx, claim)));
  return !expected.empty() && equal_constant_time(claim.signature, expected);
}

bool HmacAuth::body_matches(RequestContext& ctx) const noexcept {
  const auto given = ctx.request_headers.get("digest");
  if (!given) return false;
  const std::string_view body = ctx.request_body.value_or(std::string_view());
  const std::string_view octets = sdk::digest(ctx.arena, sdk::Hash::sha256, body);
  return !octets.empty() && *given == ctx.arena.concat({"SHA-256=", sdk::base64_encode(ctx.arena, octets)});
}

Verdict HmacAuth::rewrite(RequestContext& ctx) const noexcept {
  const auto header = ctx.request_headers.get("authorization");
  if (!header) return challenge_.fail(ctx, kMissing);
  if (!header->starts_with(kScheme)) return challenge_.fail(ctx, kOtherScheme);
  const Claim claim = Claim::parse(header->substr(kScheme.size()));
  const bool complete = !claim.key_id.empty() && !claim.signature.empty() && !claim.algorithm.empty();
  const sdk::Identity* who =
      complete && ctx.consumers != nullptr ? ctx.consumers->find("hmac-auth", claim.key_id) : nullptr;
  const auto* secret = who == nullptr ? nullptr : static_cast<const Secret*>(who->secret.get());
  if (secret == nullptr || !holds(ctx, claim, secret->key)) return challenge_.fail(ctx, kRefused);
  if (check_body_) {
    const std::uint64_t size = ctx.request_body ? ctx.request_body->size() : ctx.request_body_size;
    if (ctx.request_body_too_large || size > max_body_) {
      const std::string_view text =
          ctx.arena.copy("request size " + std::to_string(size) + " is greater than the maximum size " +
                         std::to_string(max_body_) + " allowed");
      return ctx.respond(413, sdk::json_line(ctx.arena, "message", text));
    }
    if (!body_matches(ctx)) return challenge_.fail(ctx, kRefused);
  }
  if (hide_) ctx.request_headers.remove("authorization");
  sdk::attach(ctx, *who);
  return Verdict::proceed();
}

}  // namespace sluice::plugins::hmac_auth
