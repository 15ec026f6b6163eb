// Checker: is this value fit to be stored? Schema, references, plugins (they really compile, in a dry run), the rest.
//
// The order of the checks and the wording of refusals are the interface's. What passes here, every worker can compile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/api/answers.hpp"
#include "admin/api/key_index.hpp"
#include "admin/store/image.hpp"
#include "conf/model/kinds.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/registry.hpp"

namespace sluice::admin {

struct Subject {
  conf::Kind kind;
  std::string id;   // as in conf: "1", "jack/credentials/a", "vault/1"
  std::string key;  // "routes/1"
};

class Checker {
 public:
  Checker(const Image& image, const KeyIndex& keys, const sdk::EnabledPlugins& enabled, sdk::PluginHost host,
          std::vector<std::string> stream_plugins);

  // With references, duplicates and plugins. The value is not changed.
  Outcome<void> check(const Subject& subject, const Json& value, bool from_admin = true);
  // Without what needs other stored objects.
  Outcome<void> check_alone(const Subject& subject, const Json& value, bool from_admin = true);
  // `failed to check …` for one plugin set; `prefix` comes before every message.
  Outcome<void> check_plugins(const Subject& subject, const Json& plugins);

  void enable(const sdk::EnabledPlugins& enabled) { enabled_ = enabled; }
  const sdk::EnabledPlugins& enabled() const noexcept { return enabled_; }

 private:
  Outcome<void> run(const Subject& subject, const Json& value, bool references, bool from_admin);
  Outcome<void> check_metadata(const Subject& subject, const Json& value);
  Outcome<void> check_one_plugin(const Subject& subject, const std::string& name, const Json& conf);
  Outcome<void> check_stream_plugin(const std::string& name, const Json& conf);
  Outcome<void> check_related(const Subject& subject, const Json& value);
  std::string group_in_force(std::string_view plugin, std::string_view group) const;

  const Image& image_;
  const KeyIndex& keys_;
  sdk::EnabledPlugins enabled_;
  sdk::PluginHost host_;
  std::vector<std::string> stream_plugins_;
  std::string checked_key_;  // the object that is being checked: it does not stand in its own way
};

// Body members that only the server may set: `the property is forbidden:  <name>`, or an empty text.
std::string forbidden_times(const Json& value);

}  // namespace sluice::admin
