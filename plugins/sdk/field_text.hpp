// Header fields in plugin configurations: what may be a name or a value, and a name with its value's template.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/schema/json_copy.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/headers.hpp"
#include "plugins/sdk/template.hpp"

namespace sluice::sdk {

// "" when fine, else `invalid field length in header` or `invalid field character in header`.
std::string check_field_name(std::string_view name);
// "" when fine, else `invalid type as header value` (neither text nor number) or `invalid value character in header`.
std::string check_field_value(const Json& value);

// A string as it stands, a number in its shortest decimal form.
std::string field_value_text(const Json& value);

// One header field of a configuration: name and template of the value.
struct FieldTemplate {
  std::string name;
  FieldId id = FieldId::other;
  Template value;

  // Expanded and safe to send: in the arena or in the template.
  std::string_view text(RequestContext& ctx) const noexcept;
};
FieldTemplate field_template(std::string_view name, const Json& value, CompileContext& context);
// Of an object {name: string | number}; nothing for other values.
std::vector<FieldTemplate> field_templates(const Json& object, CompileContext& context);

// The fields that describe a body that is being replaced: Content-Length, Content-Encoding, Last-Modified, ETag.
void forget_body_fields(HeaderList& headers) noexcept;

}  // namespace sluice::sdk
