#include "plugins/echo/echo.hpp"

#include "plugins/sdk/field_text.hpp"
#include "plugins/sdk/uri_text.hpp"

namespace sluice::plugins::echo {

using sdk::RequestContext;

namespace {
constexpr std::uint32_t kProgressTag = 1;
constexpr std::uint64_t kBegun = 1;
}  // namespace

const schema::Table<Echo::Config>& Echo::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("before_body", &Config::before_body, string().doc("sent before the body"))
          .field("body", &Config::body, string().doc("sent in place of the body"))
          .field("after_body", &Config::after_body, string().doc("sent after the body"))
          .field("headers", &Config::headers, object().min_properties(1).doc("fields to set; values as they stand"))
          .refine([](Node n) {
            return n.require_any({{"before_body"}, {"body"}, {"after_body"}});
          });
  return kTable;
}

std::string Echo::check(const Json& conf) {
  const Json* headers = find(conf, "headers");
  if (headers == nullptr || !headers->IsObject()) return {};
  for (const auto& m : headers->GetObject()) {
    if (!m.value.IsString() && !m.value.IsNumber()) return "invalid type as header value";
    if (std::string message = sdk::check_field_name(text_of(m.name)); !message.empty()) return message;
  }
  return {};
}

Result<Echo> Echo::compile(Config config, sdk::CompileContext&) {
  Echo made;
  made.before_ = std::move(config.before_body);
  made.body_ = std::move(config.body);
  made.after_ = std::move(config.after_body);
  if (config.headers && config.headers.get().IsObject()) {
    sdk::Arena arena;
    for (const auto& m : config.headers.get().GetObject())
      made.headers_.emplace_back(std::string(text_of(m.name)),
                                 std::string(sdk::safe_field_value(arena, sdk::field_value_text(m.value))));
  }
  return made;
}

void Echo::header_filter(RequestContext& ctx) const noexcept {
  sdk::forget_body_fields(ctx.response_headers);
  ctx.response_body_replaced = true;
  for (const auto& [name, value] : headers_) {
    if (value.empty())
      ctx.response_headers.remove(name);
    else
      ctx.response_headers.set(name, value);
  }
}

void Echo::body_filter(RequestContext& ctx, const sdk::BodyChunk& chunk, sdk::BodySink& sink) const noexcept {
  std::uint64_t& progress = ctx.note_or_add(this, kProgressTag);
  const bool first = progress == 0;
  progress = kBegun;
  if (first && !before_.empty()) sink.write(before_);
  if (body_) {
    // The first chunk ends the answer, however much the upstream has to say.
    if (!first) return;
    sink.write(*body_);
    if (!after_.empty()) sink.write(after_);
    return;
  }
  if (!chunk.octets.empty()) sink.write(chunk.octets);
  if (chunk.last && !after_.empty()) sink.write(after_);
}

}  // namespace sluice::plugins::echo
