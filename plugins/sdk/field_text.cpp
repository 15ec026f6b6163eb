#include "plugins/sdk/field_text.hpp"

#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/uri_text.hpp"

namespace sluice::sdk {

std::string check_field_name(std::string_view name) {
  if (name.empty()) return "invalid field length in header";
  for (const char c : name)
    if (c < 33 || c > 126 || c == ':') return "invalid field character in header";
  return {};
}

std::string check_field_value(const Json& value) {
  if (!value.IsString() && !value.IsNumber()) return "invalid type as header value";
  for (const char c : text_of(value))
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) >= 127)
      return "invalid value character in header";
  return {};
}

std::string field_value_text(const Json& value) {
  return value.IsNumber() ? number_text(value.GetDouble()) : std::string(text_of(value));
}

std::string_view FieldTemplate::text(RequestContext& ctx) const noexcept {
  return safe_field_value(ctx.arena, value.expand(ctx).text);
}

FieldTemplate field_template(std::string_view name, const Json& value, CompileContext& context) {
  return {std::string(name), classify_field(name), context.text(field_value_text(value))};
}

std::vector<FieldTemplate> field_templates(const Json& object, CompileContext& context) {
  std::vector<FieldTemplate> fields;
  if (!object.IsObject()) return fields;
  for (const auto& m : object.GetObject()) fields.push_back(field_template(text_of(m.name), m.value, context));
  return fields;
}

void forget_body_fields(HeaderList& headers) noexcept {
  headers.remove_if([](const Field& f) {
    return f.id == FieldId::content_length ||
           (f.id == FieldId::other && (same_field(f.name, "content-encoding") || same_field(f.name, "last-modified") ||
                                       same_field(f.name, "etag")));
  });
}

}  // namespace sluice::sdk
