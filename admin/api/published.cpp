#include "admin/api/published.hpp"

#include "admin/api/answers.hpp"
#include "conf/model/kinds.hpp"
#include "conf/schema/schema.hpp"

namespace sluice::admin {

std::optional<std::string> resource_schema(std::string_view name) {
  const auto kind = conf::kind_of_schema(name);
  if (!kind || *kind == conf::Kind::plugin_metadata || *kind == conf::Kind::secret) return std::nullopt;
  return to_json(schema::to_json_schema(conf::node_of(*kind)));
}

std::optional<std::string> published_plugin_schema(const sdk::PluginType& type, std::string_view schema_type) {
  if (schema_type == "consumer" || schema_type == "metadata") {
    const schema::Node* node = schema_type == "consumer" ? type.consumer_schema : type.metadata_schema;
    if (node == nullptr) return std::nullopt;
    return to_json(schema::to_json_schema(*node));
  }
  return to_json(schema::to_json_schema(conf::with_plugin_meta(*type.schema)));
}

std::string all_plugin_schemas(const sdk::EnabledPlugins& enabled) {
  std::string out = "{";
  for (std::string_view name : enabled.names_by_priority()) {
    const sdk::PluginType& type = *enabled.find(name);
    if (out.size() > 1) out += ',';
    out += json_string(name) + ":{\"version\":" + type.traits.version.data() +
           ",\"priority\":" + std::to_string(type.traits.priority);
    out += ",\"schema\":" + published_plugin_schema(type, "").value_or("{}");
    if (auto s = published_plugin_schema(type, "metadata")) out += ",\"metadata_schema\":" + *s;
    if (auto s = published_plugin_schema(type, "consumer")) out += ",\"consumer_schema\":" + *s;
    if (type.traits.kind == sdk::PluginKind::auth) out += ",\"type\":\"auth\"";
    out += '}';
  }
  return out + "}";
}

}  // namespace sluice::admin
