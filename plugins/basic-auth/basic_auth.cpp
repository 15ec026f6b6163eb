#include "plugins/basic-auth/basic_auth.hpp"

#include <optional>

#include "conf/base/constant_time.hpp"
#include "conf/base/text.hpp"
#include "plugins/sdk/base64.hpp"

namespace sluice::plugins::basic_auth {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

constexpr std::string_view kMissing = "{\"message\":\"Missing authorization in request\"}\n";
constexpr std::string_view kMalformed = "{\"message\":\"Invalid authorization in request\"}\n";
constexpr std::string_view kWrong = "{\"message\":\"Invalid user authorization\"}\n";

struct Secret {
  std::string password;
};

struct Credentials {
  std::string_view user, password;
};

std::string_view without_blanks(sdk::Arena& arena, std::string_view text) noexcept {
  char* const begin = static_cast<char*>(arena.allocate(text.size() + 1, 1));
  std::size_t n = 0;
  for (const char c : text)
    if (!text::is_space(c)) begin[n++] = c;
  return {begin, n};
}

// As the reference reads them: blanks do not count, and neither does what follows a second colon.
std::optional<Credentials> credentials_of(sdk::Arena& arena, std::string_view header) noexcept {
  constexpr std::string_view kScheme = "basic";
  if (!text::istarts_with(header, kScheme) || header.size() == kScheme.size()) return std::nullopt;
  header.remove_prefix(kScheme.size());
  if (!text::is_space(header.front())) return std::nullopt;
  const auto decoded = sdk::base64_decode(arena, text::trim(header));
  const auto colon = decoded ? decoded->find(':') : std::string_view::npos;
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view rest = decoded->substr(colon + 1);
  return Credentials{without_blanks(arena, decoded->substr(0, colon)),
                     without_blanks(arena, rest.substr(0, rest.find(':')))};
}

}  // namespace

const schema::Table<BasicAuth::Config>& BasicAuth::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("hide_credentials", &Config::hide_credentials,
                 boolean().default_value(false).doc("take Authorization out before the request goes upstream"))
          .field("anonymous_consumer", &Config::anonymous_consumer, sdk::anonymous_consumer_field())
          .field("realm", &Config::realm, sdk::realm_field("basic"))
          .refine(&sdk::titled_route_side);
  return kTable;
}

const schema::Node& BasicAuth::consumer_schema() {
  static const schema::Node kNode = sdk::titled_consumer_side(
      schema::object()
          .property("username", schema::string().doc("user name, unique over consumers"), schema::required)
          .property("password", schema::string().encrypted().doc("password"), schema::required));
  return kNode;
}

Result<std::shared_ptr<const void>> BasicAuth::compile_consumer(const Json& conf) {
  return std::shared_ptr<const void>(
      std::make_shared<const Secret>(Secret{std::string(text_of(*find(conf, "password")))}));
}

Result<BasicAuth> BasicAuth::compile(Config config, sdk::CompileContext&) {
  BasicAuth made;
  made.challenge_ = sdk::Challenge("Basic", config.realm, std::move(config.anonymous_consumer));
  made.hide_ = config.hide_credentials;
  return made;
}

Verdict BasicAuth::rewrite(RequestContext& ctx) const noexcept {
  const auto header = ctx.request_headers.get("authorization");
  const auto given = header ? credentials_of(ctx.arena, *header) : std::nullopt;
  Verdict verdict = Verdict::proceed();
  const sdk::Identity* who =
      given && ctx.consumers != nullptr ? ctx.consumers->find("basic-auth", given->user) : nullptr;
  const auto* secret = who == nullptr ? nullptr : static_cast<const Secret*>(who->secret.get());
  if (secret != nullptr && equal_constant_time(given->password, secret->password))
    sdk::attach(ctx, *who);
  else
    verdict = challenge_.fail(ctx, given ? kWrong : header ? kMalformed : kMissing);
  if (hide_ && !verdict.ends_request()) ctx.request_headers.remove("authorization");
  return verdict;
}

}  // namespace sluice::plugins::basic_auth
