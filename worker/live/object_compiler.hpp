// From one stored value to what the tables keep of it. Touches no table: what it needs to know comes as arguments.
#pragma once

#include <string>
#include <string_view>

#include "conf/base/result.hpp"
#include "conf/schema/json_copy.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/registry.hpp"
#include "worker/live/change.hpp"
#include "worker/live/records.hpp"
#include "worker/router/router_kind.hpp"

namespace sluice::live {

struct CompileEnvironment {
  const sdk::PluginHost& host;
  const sdk::EnabledPlugins& enabled;
  bool refuse_disabled_plugins;
  bool parameters;                       // of the router
  const Upstream::Environment& upstreams;
};

// Errors: the value breaks the rules of its kind. A plugin that does not compile is no error of these but stands in
// PluginData::error; of a consumer it is an error.
Result<RouteData> compile_route(const CompileEnvironment& env, const Change& change, const Json& value);
Result<ServiceData> compile_service(const CompileEnvironment& env, const Change& change, const Json& value);
Result<sdk::Ref<Upstream>> compile_upstream(const CompileEnvironment& env, const Change& change, const Json& value);
// plugin_config, consumer_group, global_rule.
Result<PluginData> compile_plugin_set(const CompileEnvironment& env, const Change& change, const Json& value);
Result<ConsumerData> compile_consumer(const CompileEnvironment& env, const Change& change, const Json& value);
Result<CredentialData> compile_credential(const CompileEnvironment& env, const Change& change, const Json& value);

// "/apisix/routes/1".
std::string resource_key_of(conf::Kind kind, std::string_view id);

// The text of an authentication credential: `$env://NAME` and `$env://NAME/member` are looked up. Nothing for a
// reference that cannot be resolved: such a consumer is left out.
std::optional<std::string> resolve_credential(std::string_view text);

}  // namespace sluice::live
