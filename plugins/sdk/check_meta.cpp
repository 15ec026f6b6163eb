// `_meta` of a plugin's configuration, and references to the environment.
#include <cstdlib>

#include "conf/base/text.hpp"
#include "conf/schema/schema.hpp"
#include "plugins/sdk/check.hpp"

namespace sluice::sdk {

namespace {

const schema::Node& meta_node() {
  static const schema::Node node =
      schema::object()
          .property("disable", schema::boolean())
          .property("error_response", schema::one_of({schema::string(), schema::object()}))
          .property("priority", schema::integer())
          .property("filter", schema::array())
          .property("pre_function", schema::string())
          .closed();
  return node;
}

}  // namespace

std::string check_meta_shape(const Json& meta) {
  JsonDoc copy;
  copy.CopyFrom(meta, copy.GetAllocator());
  return schema::validate(meta_node(), copy, copy.GetAllocator(), false);
}

Result<Meta> compile_meta(const Json& meta, std::string_view plugin) {
  Meta out;
  if (const Json* v = find(meta, "disable")) out.disable = v->IsTrue();
  if (const Json* v = find(meta, "priority")) out.priority = static_cast<int>(v->GetDouble());
  if (const Json* v = find(meta, "error_response"))
    out.error_response = v->IsString() ? std::string(text_of(*v)) : to_json(*v) + "\n";
  if (const Json* v = find(meta, "filter")) {
    auto compiled = Expression::compile(*v);
    if (!compiled) return invalid("failed to validate the 'vars' expression: " + compiled.error().reason);
    out.filter = std::move(*compiled);
  }
  if (find(meta, "pre_function") != nullptr)
    return invalid("failed to load _meta.pre_function in plugin " + std::string(plugin) +
                   ": scripting is not available in this build");
  return out;
}

void resolve_environment(Json& value, JsonDoc::AllocatorType& alloc) {
  if (value.IsObject()) {
    for (auto& m : value.GetObject()) resolve_environment(m.value, alloc);
    return;
  }
  if (value.IsArray()) {
    for (auto& item : value.GetArray()) resolve_environment(item, alloc);
    return;
  }
  if (!value.IsString() || !text::istarts_with(text_of(value), "$env://")) return;
  const std::string_view reference = text_of(value).substr(7);
  const auto slash = reference.find('/');
  const char* found = std::getenv(std::string(reference.substr(0, slash)).c_str());
  if (found == nullptr) return;
  if (slash == std::string_view::npos) {
    value.SetString(found, alloc);
    return;
  }
  // The variable holds a JSON object: take the member.
  const auto doc = parse_json(found);
  if (!doc) return;
  const Json* member = sluice::find(*doc, reference.substr(slash + 1));
  if (member == nullptr) return;
  if (member->IsString()) value.SetString(member->GetString(), member->GetStringLength(), alloc);
  else value.SetString(to_json(*member), alloc);
}

}  // namespace sluice::sdk
