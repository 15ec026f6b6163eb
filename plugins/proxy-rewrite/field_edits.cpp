#include "plugins/proxy-rewrite/field_edits.hpp"

#include "conf/base/log.hpp"
#include "conf/base/text.hpp"
#include "plugins/sdk/field_text.hpp"
#include "plugins/sdk/uri_text.hpp"

namespace sluice::plugins::proxy_rewrite {

namespace {

bool is_structured(const Json& headers) noexcept {
  for (const char* name : {"add", "set", "remove"}) {
    const Json* part = find(headers, name);
    if (part != nullptr && (part->IsObject() || part->IsArray())) return true;
  }
  return false;
}

// The gateway frames the body itself; a configuration must not contradict it.
bool is_framing(std::string_view name) noexcept {
  const sdk::FieldId id = sdk::classify_field(name);
  return id == sdk::FieldId::content_length || id == sdk::FieldId::transfer_encoding;
}

std::string check_names(const Json* object) {
  if (object == nullptr || !object->IsObject()) return {};
  for (const auto& m : object->GetObject())
    if (std::string message = sdk::check_field_name(text_of(m.name)); !message.empty()) return message;
  return {};
}

}  // namespace

schema::Node FieldEdits::node() {
  using namespace schema;
  const Node scalar = one_of({string(), number()});
  const Node value = one_of({string(), number(), array(scalar).min_items(1)});
  const Node fields = object().min_properties(1).pattern_property("^[^:]+$", value).closed();
  const Node structured = object()
                              .property("add", fields.doc("fields that are appended"))
                              .property("set", fields.doc("fields that replace those of the same name"))
                              .property("remove", array(string().pattern("^[^:]+$")).min_items(1))
                              .closed()
                              .min_properties(1);
  const Node flat = object().min_properties(1).pattern_property("^[^:]+$", scalar);
  return one_of({structured, flat});
}

std::string FieldEdits::check(const Json& headers) {
  if (is_structured(headers)) {
    if (std::string message = check_names(find(headers, "add")); !message.empty()) return message;
    return check_names(find(headers, "set"));
  }
  if (!headers.IsObject()) return {};
  for (const auto& m : headers.GetObject()) {
    // The reference looks at the value's type first.
    if (!m.value.IsString() && !m.value.IsNumber()) return "invalid type as header value";
    if (std::string message = sdk::check_field_name(text_of(m.name)); !message.empty()) return message;
    if (std::string message = sdk::check_field_value(m.value); !message.empty()) return message;
  }
  return {};
}

FieldEdits::Value FieldEdits::Value::compile(std::string_view text, sdk::CompileContext& context) {
  Value value;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || (i > 0 && text[i - 1] == '\\')) continue;
    std::size_t digits = i + 1;
    if (digits < text.size() && text[digits] == '{') ++digits;
    std::size_t end = digits;
    while (end < text.size() && text::is_digit(text[end])) ++end;
    const auto group = text::to_int<int>(text.substr(digits, end - digits));
    if (end == digits || !group) continue;
    if (end < text.size() && text[end] == '}') ++end;
    value.parts_.push_back({context.text(text.substr(begin, i - begin)), *group});
    begin = end;
    i = end - 1;
  }
  if (begin < text.size() || value.parts_.empty()) value.parts_.push_back({context.text(text.substr(begin)), -1});
  return value;
}

std::string_view FieldEdits::Value::expand(sdk::RequestContext& ctx) const noexcept {
  std::string_view all;
  for (const Part& part : parts_) {
    const std::string_view text = part.text.expand(ctx).text;
    const auto group = static_cast<std::size_t>(part.group);
    const bool matched = part.group >= 0 && group < ctx.regex_captures.size();
    const std::string_view capture = matched ? ctx.regex_captures[group] : std::string_view();
    if (all.empty() && capture.empty())
      all = text;
    else
      all = ctx.arena.concat({all, text, capture});
  }
  return sdk::safe_field_value(ctx.arena, all);
}

std::vector<FieldEdits::Edit> FieldEdits::edits_of(const Json* object, sdk::CompileContext& context) {
  std::vector<Edit> edits;
  if (object == nullptr || !object->IsObject()) return edits;
  for (const auto& m : object->GetObject()) {
    const std::string_view name = text_of(m.name);
    if (is_framing(name)) {
      log::warn("proxy-rewrite of " + context.resource_key() + ": header " + std::string(name) +
                " is the gateway's own, the edit is ignored");
      continue;
    }
    Edit edit{std::string(name), {}, m.value.IsArray()};
    if (edit.list) {
      for (const auto& item : m.value.GetArray())
        edit.values.push_back(Value::compile(sdk::field_value_text(item), context));
    } else {
      edit.values.push_back(Value::compile(sdk::field_value_text(m.value), context));
    }
    edits.push_back(std::move(edit));
  }
  return edits;
}

FieldEdits FieldEdits::compile(const Json& headers, sdk::CompileContext& context) {
  FieldEdits edits;
  if (!is_structured(headers)) {
    edits.set_ = edits_of(&headers, context);
    return edits;
  }
  edits.add_ = edits_of(find(headers, "add"), context);
  edits.set_ = edits_of(find(headers, "set"), context);
  if (const Json* remove = find(headers, "remove"); remove != nullptr && remove->IsArray())
    for (const auto& name : remove->GetArray())
      if (!is_framing(text_of(name))) edits.remove_.emplace_back(text_of(name));
  return edits;
}

void FieldEdits::apply(sdk::RequestContext& ctx) const noexcept {
  sdk::HeaderList& fields = ctx.request_headers;
  for (const Edit& edit : add_) {
    for (const Value& value : edit.values) {
      const std::string_view text = value.expand(ctx);
      if (!text.empty() || edit.list) fields.add(edit.name, text);
    }
  }
  for (const Edit& edit : set_) {
    bool first = true;
    for (const Value& value : edit.values) {
      // A value may speak of the field that is being replaced: expand before the old one goes.
      const std::string_view text = value.expand(ctx);
      if (text.empty() && !edit.list)
        fields.remove(edit.name);
      else if (first)
        fields.set(edit.name, text);
      else
        fields.add(edit.name, text);
      first = false;
    }
  }
  for (const std::string& name : remove_) fields.remove(name);
}

}  // namespace sluice::plugins::proxy_rewrite
