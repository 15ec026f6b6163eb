#include "plugins/csrf/csrf.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>

#include "conf/base/constant_time.hpp"
#include "plugins/sdk/base64.hpp"
#include "plugins/sdk/chance.hpp"
#include "plugins/sdk/digest.hpp"
#include "plugins/sdk/field_text.hpp"
#include "plugins/sdk/http_date.hpp"

namespace sluice::plugins::csrf {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

constexpr std::size_t kMaxToken = 4096;

// Numbers in a token's signature: up to 14 significant digits, as they were printed when it was issued.
std::string_view printed(sdk::Arena& arena, double value) noexcept {
  char* const out = static_cast<char*>(arena.allocate(32, 1));
  const int n = std::snprintf(out, 32, "%.14g", value);
  return {out, static_cast<std::size_t>(n)};
}

std::int64_t unix_now(const RequestContext& ctx) noexcept {
  return std::chrono::duration_cast<std::chrono::seconds>(ctx.wall.time_since_epoch()).count();
}

}  // namespace

const schema::Table<Csrf::Config>& Csrf::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("expires", &Config::expires,
                 integer().default_value(7200).doc("seconds that a token is good for; 0 and less: for ever"))
          .field("key", &Config::key, string().encrypted().doc("what tokens are signed with"), required)
          .field("name", &Config::name, string().default_value("apisix-csrf-token").doc("name of cookie and field"));
  return kTable;
}

std::string Csrf::check(const Json& conf) {
  const Json* name = find(conf, "name");
  return name == nullptr ? std::string() : sdk::check_field_name(text_of(*name));
}

Result<Csrf> Csrf::compile(Config config, sdk::CompileContext& context) {
  Csrf made;
  made.expires_ = config.expires;
  made.key_ = std::move(config.key);
  made.cookie_ = context.variable("cookie_" + config.name);
  made.name_ = std::move(config.name);
  return made;
}

std::string_view Csrf::sign(sdk::Arena& arena, std::string_view random, std::string_view issued) const noexcept {
  const std::string_view text = arena.concat({"{expires:", issued, ",random:", random, ",key:", key_, "}"});
  return sdk::hex(arena, sdk::digest(arena, sdk::Hash::sha256, text));
}

bool Csrf::genuine(RequestContext& ctx, std::string_view token) const noexcept {
  if (token.size() > kMaxToken) return false;
  const auto text = sdk::base64_decode(ctx.arena, token);
  if (!text) return false;
  const auto parsed = parse_json(*text, {.max_bytes = kMaxToken, .max_depth = 4});
  if (!parsed) return false;
  const Json* random = find(*parsed, "random");
  const Json* issued = find(*parsed, "expires");
  const Json* given = find(*parsed, "sign");
  if (random == nullptr || issued == nullptr || given == nullptr) return false;
  if (!random->IsNumber() || !issued->IsNumber() || !given->IsString()) return false;
  const double age = static_cast<double>(unix_now(ctx)) - issued->GetDouble();
  if (expires_ > 0 && age > static_cast<double>(expires_)) return false;
  const std::string_view expected =
      sign(ctx.arena, printed(ctx.arena, random->GetDouble()), printed(ctx.arena, issued->GetDouble()));
  return !expected.empty() && equal_constant_time(text_of(*given), expected);
}

Verdict Csrf::access(RequestContext& ctx) const noexcept {
  if (ctx.method == "GET" || ctx.method == "HEAD" || ctx.method == "OPTIONS") return Verdict::proceed();
  const auto field = ctx.request_headers.get(name_);
  if (!field || field->empty()) return ctx.respond(401, "{\"error_msg\":\"no csrf token in headers\"}\n");
  const sdk::Value cookie = cookie_.get(ctx);
  if (!cookie.exists()) return ctx.respond(401, "{\"error_msg\":\"no csrf cookie\"}\n");
  if (!equal_constant_time(*field, cookie.text)) return ctx.respond(401, "{\"error_msg\":\"csrf token mismatch\"}\n");
  if (!genuine(ctx, cookie.text))
    return ctx.respond(401, "{\"error_msg\":\"Failed to verify the csrf token signature\"}\n");
  return Verdict::proceed();
}

void Csrf::header_filter(RequestContext& ctx) const noexcept {
  sdk::Arena& arena = ctx.arena;
  const std::int64_t now = unix_now(ctx);
  const double draw = static_cast<double>(sdk::random_u64() >> 11) * 0x1p-53;  // uniform in [0, 1)
  const std::string_view random = printed(arena, draw);
  const std::string_view issued = printed(arena, static_cast<double>(now));
  const std::string_view json = arena.concat(
      {"{\"random\":", random, ",\"expires\":", issued, ",\"sign\":\"", sign(arena, random, issued), "\"}"});
  ctx.response_headers.add("Set-Cookie",
                           arena.concat({name_, "=", sdk::base64_encode(arena, json),
                                         ";path=/;SameSite=Lax;Expires=", sdk::cookie_date(arena, now + expires_)}));
}

}  // namespace sluice::plugins::csrf
