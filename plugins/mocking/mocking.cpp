#include "plugins/mocking/mocking.hpp"

#include <algorithm>

#include "conf/base/text.hpp"

namespace sluice::plugins::mocking {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

// Clients tell mocked answers by this field; the value names the interface that is answered to.
constexpr std::string_view kMockHeader = "x-mock-by";
constexpr std::string_view kMockedBy = "APISIX/3.18.0";
constexpr std::int64_t kLongestDelay = 365 * 86400;  // seconds

std::string_view media_type(std::string_view content_type) noexcept {
  return text::trim(content_type.substr(0, content_type.find(';')));
}

bool is_xml(std::string_view media) noexcept {
  return text::iequal(media, "application/xml") || text::iequal(media, "text/xml");
}
bool is_html(std::string_view media) noexcept { return text::iequal(media, "text/html"); }
bool is_supported(std::string_view media) noexcept {
  return is_xml(media) || is_html(media) || text::iequal(media, "application/json") ||
         text::iequal(media, "text/plain");
}

}  // namespace

const schema::Table<Mocking::Config>& Mocking::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("delay", &Config::delay, integer().default_value(0).doc("seconds before the answer"))
          .field("response_status", &Config::response_status,
                 integer().at_least(100).default_value(200).doc("status of the answer"))
          .field("content_type", &Config::content_type,
                 string().default_value("application/json;charset=utf8").doc("JSON, XML, plain text or HTML"))
          .field("response_example", &Config::response_example,
                 string().doc("the body, a template; wins over response_schema"))
          .field("response_schema", &Config::response_schema, object().doc("JSON Schema that a body is made from"))
          .field("with_mock_header", &Config::with_mock_header,
                 boolean().default_value(true).doc("send the field x-mock-by"))
          .field("response_headers", &Config::response_headers,
                 object()
                     .min_properties(1)
                     .pattern_property("^[^:]+$", one_of({string(), number()}))
                     .doc("fields to add, templates"))
          .refine([](Node n) {
            return n.require_any({{"response_example"}, {"response_schema"}});
          });
  return kTable;
}

std::string Mocking::check(const Json& conf) {
  if (const Json* type = find(conf, "content_type"); type != nullptr && !is_supported(media_type(text_of(*type))))
    return "unsupported content type!";
  const Json* headers = find(conf, "response_headers");
  if (headers != nullptr && headers->IsObject())
    for (const auto& m : headers->GetObject())
      if (std::string message = sdk::check_field_name(text_of(m.name)); !message.empty()) return message;
  return {};
}

Result<Mocking> Mocking::compile(Config config, sdk::CompileContext& context) {
  Mocking made;
  const std::string_view media = media_type(config.content_type);
  if (config.response_example) {
    made.source_ = Source::text;
    made.example_ = context.text(*config.response_example);
  } else if (!is_html(media)) {
    made.source_ = is_xml(media) ? Source::xml : Source::json;
    made.generated_ = Example::compile(config.response_schema.get(), context);
  }
  made.content_type_ = std::move(config.content_type);
  made.status_ = static_cast<std::uint16_t>(std::min(config.response_status, 999));
  made.delay_ = std::chrono::seconds(std::clamp<std::int64_t>(config.delay, 0, kLongestDelay));
  made.mock_header_ = config.with_mock_header;
  if (config.response_headers) made.headers_ = sdk::field_templates(config.response_headers.get(), context);
  return made;
}

Verdict Mocking::access(RequestContext& ctx) const noexcept {
  std::string_view body;
  switch (source_) {
    case Source::nothing:
      break;
    case Source::text:
      body = example_.expand(ctx).text;
      break;
    case Source::json:
      body = generated_.json(ctx);
      break;
    case Source::xml:
      body = generated_.xml(ctx, "data");
      break;
  }
  if (mock_header_) ctx.response_headers.set(kMockHeader, kMockedBy);
  for (const auto& field : headers_)
    if (const auto value = field.text(ctx); !value.empty()) ctx.response_headers.add(field.name, value);
  ctx.respond(status_, body, content_type_);
  return Verdict::reply_after(delay_, status_);
}

}  // namespace sluice::plugins::mocking
