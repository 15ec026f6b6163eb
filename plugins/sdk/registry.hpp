// Registry: all plugin types of this build, and the way from a configuration to an instance.
//
// The list is generated from the folders below plugins/: adding a plugin touches one folder, deleting the folder
// removes the feature. Duplicate names or priorities do not compile.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/sdk/plugin.hpp"

namespace sluice::sdk {

std::span<const PluginType> all_plugins() noexcept;                     // by priority, highest first
const PluginType* find_plugin(std::string_view name) noexcept;          // built, whether enabled or not
bool known_but_not_built(std::string_view name) noexcept;               // a plugin name of the reference
const PublicApi* find_public_api(std::string_view method, std::string_view uri) noexcept;

// The `plugins` list of the node file: names that may be used. Names that are not built are reported by unbuilt().
class EnabledPlugins {
 public:
  EnabledPlugins();                                                     // everything built
  explicit EnabledPlugins(const std::vector<std::string>& names);
  const PluginType* find(std::string_view name) const noexcept;         // nullptr: not enabled or not built
  std::vector<std::string_view> names_by_priority() const;
  const std::vector<std::string>& unbuilt() const noexcept { return unbuilt_; }

 private:
  std::vector<const PluginType*> types_;   // sorted by name
  std::vector<std::string> unbuilt_;
};

// The checks of admin-side writing and of compiling, in the reference's words:
//   unknown plugin [x] · invalid plugin conf <json> for plugin [x] ·
//   failed to check the configuration of plugin x err: <message> · failed to validate the 'vars' expression: <message>
// Error::reason is that text. `_meta` is taken out of a copy; the given JSON is not changed.
Result<void> check_plugin_conf(const EnabledPlugins& enabled, std::string_view name, const Json& conf);
// The consumer side of an authentication plugin (consumer_schema); other plugins: as check_plugin_conf.
Result<void> check_consumer_plugin_conf(const EnabledPlugins& enabled, std::string_view name, const Json& conf);

// What an authentication plugin needs of a consumer or credential (Identity::secret). Null: nothing is needed, or a
// secret reference in it cannot be resolved, so that it must not match.
Result<std::shared_ptr<const void>> compile_consumer_conf(const PluginType& type, const Json& conf);

// Check and compile. `resource_key` e.g. "/apisix/routes/1". A disabled configuration (`_meta.disable`) compiles to an
// instance with meta.disable and no handlers.
Result<std::shared_ptr<const PluginInstance>> compile_plugin_conf(const EnabledPlugins& enabled, std::string_view name,
                                                                  const Json& conf, const PluginHost& host,
                                                                  const std::string& resource_key);

// Decimal CRC-32 of the canonical JSON with defaults filled in.
std::string conf_version_of(const Json& conf_with_defaults);

}  // namespace sluice::sdk
