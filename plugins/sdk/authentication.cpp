#include "plugins/sdk/authentication.hpp"

namespace sluice::sdk {

Challenge::Challenge(std::string_view scheme, std::string_view realm, std::string anonymous_consumer)
    : header_(std::string(scheme) + " realm=\"" + std::string(realm) + "\""),
      anonymous_(std::move(anonymous_consumer)) {}

Verdict Challenge::refuse(RequestContext& ctx, std::string_view body) const noexcept {
  ctx.response_headers.set("WWW-Authenticate", header_);
  return ctx.respond(401, body);
}

Verdict Challenge::fail(RequestContext& ctx, std::string_view body) const noexcept {
  if (anonymous_.empty()) return refuse(ctx, body);
  Ref<const Consumer> who = ctx.consumers == nullptr ? Ref<const Consumer>() : ctx.consumers->by_name(anonymous_);
  if (!who) return refuse(ctx, "{\"message\":\"Invalid user authorization\"}\n");
  ctx.attach_consumer(std::move(who), {});
  return Verdict::proceed();
}

schema::Node realm_field(std::string_view default_realm) {
  return schema::string()
      .min_length(1)
      .max_length(128)
      .pattern(R"(^[\x20\x21\x23-\x5b\x5d-\x7e]+$)")
      .default_value(std::string(default_realm))
      .doc("realm of the WWW-Authenticate header of every 401");
}

schema::Node anonymous_consumer_field() {
  return schema::string().min_length(1).doc("consumer that a request without valid credentials is taken for");
}

void attach(RequestContext& ctx, const Identity& identity) noexcept {
  ctx.attach_consumer(identity.consumer, ctx.arena.copy(identity.credential_id));
}

}  // namespace sluice::sdk
