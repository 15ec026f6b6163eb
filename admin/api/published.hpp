// Schemas as the Admin API and the control API publish them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plugins/sdk/registry.hpp"

namespace sluice::admin {

// JSON Schema of a resource by its singular name; nothing when there is none of that name.
std::optional<std::string> resource_schema(std::string_view name);

// JSON Schema of a plugin: "" its route side, "consumer", "metadata". Nothing when it has none of that kind.
std::optional<std::string> published_plugin_schema(const sdk::PluginType& type, std::string_view schema_type);

// {name: {version, priority, schema, metadata_schema, consumer_schema, type}} of all enabled plugins.
std::string all_plugin_schemas(const sdk::EnabledPlugins& enabled);

}  // namespace sluice::admin
