#include "plugins/key-auth/key_auth.hpp"

namespace sluice::plugins::key_auth {

using sdk::RequestContext;
using sdk::Verdict;

namespace {
constexpr std::string_view kMissing = "{\"message\":\"Missing API key in request\"}\n";
constexpr std::string_view kInvalid = "{\"message\":\"Invalid API key in request\"}\n";
}  // namespace

const schema::Table<KeyAuth::Config>& KeyAuth::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("header", &Config::header, string().default_value("apikey").doc("field that is looked at first"))
          .field("query", &Config::query,
                 string().default_value("apikey").doc("query argument, when the field is absent"))
          .field("hide_credentials", &Config::hide_credentials,
                 boolean().default_value(false).doc("take the key out before the request goes upstream"))
          .field("anonymous_consumer", &Config::anonymous_consumer, sdk::anonymous_consumer_field())
          .field("realm", &Config::realm, sdk::realm_field("key"))
          .refine(&sdk::titled_route_side);
  return kTable;
}

const schema::Node& KeyAuth::consumer_schema() {
  static const schema::Node kNode = sdk::titled_consumer_side(
      schema::object().property("key", schema::string().encrypted().doc("the API key"), schema::required));
  return kNode;
}

Result<KeyAuth> KeyAuth::compile(Config config, sdk::CompileContext& context) {
  KeyAuth made;
  made.argument_ = context.variable("arg_" + config.query);
  made.header_ = std::move(config.header);
  made.query_ = std::move(config.query);
  made.challenge_ = sdk::Challenge("apikey", config.realm, std::move(config.anonymous_consumer));
  made.hide_ = config.hide_credentials;
  return made;
}

Verdict KeyAuth::rewrite(RequestContext& ctx) const noexcept {
  const auto field = ctx.request_headers.get(header_);
  const sdk::Value argument = field ? sdk::Value::absent() : argument_.get(ctx);
  const bool given = field || argument.exists();
  const std::string_view key = field ? *field : argument.text;
  const sdk::Identity* found = given && ctx.consumers != nullptr ? ctx.consumers->find("key-auth", key) : nullptr;
  if (found != nullptr) {
    if (hide_ && field) ctx.request_headers.remove(header_);
    if (hide_ && !field) sdk::hide_argument(ctx, query_);
    sdk::attach(ctx, *found);
    return Verdict::proceed();
  }
  const Verdict verdict = challenge_.fail(ctx, given ? kInvalid : kMissing);
  if (hide_ && !verdict.ends_request()) {  // taken for the anonymous consumer
    ctx.request_headers.remove(header_);
    sdk::hide_argument(ctx, query_);
  }
  return verdict;
}

}  // namespace sluice::plugins::key_auth
