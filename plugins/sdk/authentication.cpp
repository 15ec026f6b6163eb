#include "plugins/sdk/authentication.hpp"

#include "conf/base/text.hpp"
#include "plugins/sdk/uri_text.hpp"

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
      .pattern(R"(^[ -!#-[\]-~]+$)")
      .default_value(std::string(default_realm))
      .doc("realm of the WWW-Authenticate header of every 401");
}

schema::Node titled_route_side(schema::Node node) {
  return node.keyword("title", R"("work with route or service object")");
}

schema::Node titled_consumer_side(schema::Node node) { return node.keyword("title", R"("work with consumer object")"); }

schema::Node anonymous_consumer_field() {
  return schema::string().min_length(1).doc("consumer that a request without valid credentials is taken for");
}

void hide_argument(RequestContext& ctx, std::string_view name) noexcept {
  const std::string_view kept = without_argument(ctx.arena, ctx.query, name);
  if (kept.size() == ctx.query.size()) return;
  std::string_view target = ctx.upstream_uri.empty() ? origin_form(ctx.target) : ctx.upstream_uri;
  if (const auto mark = target.find('?'); mark != std::string_view::npos) {
    const std::string_view query = without_argument(ctx.arena, target.substr(mark + 1), name);
    target = query.empty() ? target.substr(0, mark) : ctx.arena.concat({target.substr(0, mark + 1), query});
  }
  ctx.upstream_uri = target;
  ctx.query = kept;
}

void hide_cookie(RequestContext& ctx, std::string_view name) noexcept {
  for (std::size_t i = 0; i < ctx.request_headers.size(); ++i) {
    Field& field = ctx.request_headers[i];
    if (field.id != FieldId::cookie) continue;
    std::string_view kept;
    for (std::string_view rest = field.value; !rest.empty();) {
      const auto semicolon = rest.find(';');
      const std::string_view pair = text::trim(rest.substr(0, semicolon));
      rest = semicolon == std::string_view::npos ? std::string_view() : rest.substr(semicolon + 1);
      if (pair.substr(0, pair.find('=')) == name) continue;
      kept = kept.empty() ? pair : ctx.arena.concat({kept, "; ", pair});
    }
    field.value = kept;
  }
  ctx.request_headers.remove_if([](const Field& f) { return f.id == FieldId::cookie && f.value.empty(); });
}

void attach(RequestContext& ctx, const Identity& identity) noexcept {
  ctx.attach_consumer(identity.consumer, ctx.arena.copy(identity.credential_id));
}

}  // namespace sluice::sdk
