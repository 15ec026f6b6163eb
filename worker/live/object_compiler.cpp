#include "worker/live/object_compiler.hpp"

#include <algorithm>
#include <cstdlib>

#include "conf/base/text.hpp"
#include "conf/model/resources.hpp"
#include "conf/schema/schema.hpp"

namespace sluice::live {
namespace {

// One plugin of a set. Adds to `data` or says in data.error why not.
void add_plugin(const CompileEnvironment& env, const std::string& name, const Json& conf, const std::string& key,
                PluginData& data) {
  if (env.enabled.find(name) == nullptr && sdk::find_plugin(name) != nullptr && !env.refuse_disabled_plugins) return;
  auto instance = sdk::compile_plugin_conf(env.enabled, name, conf, env.host, key);
  if (instance)
    data.plugins.push_back(std::move(*instance));
  else if (data.error.empty())
    data.error = instance.error().reason;
}

PluginData compile_plugins(const CompileEnvironment& env, const conf::PluginConfs& confs, const std::string& key) {
  PluginData data;
  for (const auto& [name, conf] : confs) add_plugin(env, name, conf.get(), key, data);
  return data;
}

std::optional<Timeouts> to_timeouts(const std::optional<conf::Timeout>& t) {
  if (!t) return std::nullopt;
  const auto ns = [](double s) { return nanoseconds(static_cast<std::int64_t>(std::min(s, 1e9) * 1e9)); };
  return Timeouts{ns(t->connect), ns(t->send), ns(t->read)};
}

bool is_disabled(const Json& conf) {
  const Json* meta = find(conf, "_meta");
  const Json* disable = meta ? find(*meta, "disable") : nullptr;
  return disable && disable->IsBool() && disable->GetBool();
}

// Identities of a consumer or credential; what is no authentication goes to `others`.
Result<std::vector<AuthKey>> take_keys(const CompileEnvironment& env, const conf::PluginConfs& confs,
                                       conf::PluginConfs& others) {
  std::vector<AuthKey> keys;
  for (const auto& [name, conf] : confs) {
    const sdk::PluginType* type = env.enabled.find(name);
    if (type == nullptr || type->consumer_schema == nullptr) {
      others.emplace_back(name, conf);
      continue;
    }
    if (auto checked = sdk::check_consumer_plugin_conf(env.enabled, name, conf.get()); !checked) return checked.error();
    const Json* key = find(conf.get(), type->consumer_key_field);
    if (key == nullptr || !key->IsString() || is_disabled(conf.get())) continue;
    auto value = resolve_credential(text_of(*key));
    if (!value) continue;
    auto secret = sdk::compile_consumer_conf(*type, conf.get());
    if (!secret) return secret.error();
    keys.push_back({type->traits.name, std::move(*value), std::move(*secret)});
  }
  return keys;
}

}  // namespace

std::string resource_key_of(conf::Kind kind, std::string_view id) { return "/apisix/" + conf::join_key(kind, id); }

std::optional<std::string> resolve_credential(std::string_view text) {
  if (!schema::is_secret_reference(text)) return std::string(text);
  constexpr std::string_view kEnv = "$env://";
  if (!text::istarts_with(text, kEnv)) return std::nullopt;
  text.remove_prefix(kEnv.size());
  const auto slash = text.find('/');
  const char* value = std::getenv(std::string(text.substr(0, slash)).c_str());
  if (value == nullptr) return std::nullopt;
  if (slash == std::string_view::npos) return std::string(value);
  const auto doc = parse_json(value);
  const Json* member = doc ? find(*doc, text.substr(slash + 1)) : nullptr;
  if (member == nullptr || !member->IsString()) return std::nullopt;
  return std::string(text_of(*member));
}

Result<RouteData> compile_route(const CompileEnvironment& env, const Change& change, const Json& value) {
  auto parsed = conf::parse_route(value);
  if (!parsed) return parsed.error();
  const std::string key = resource_key_of(change.kind, change.id);
  RouteData data;
  auto matching = sdk::make_ref<router::Route>();
  matching->id = change.id;
  matching->created = change.created;
  matching->priority = parsed->priority;
  matching->methods = router::method_mask(parsed->methods);
  matching->has_filter = !parsed->filter_func.empty();
  for (const std::string& address : parsed->remote_addrs)
    if (!matching->addresses.add(address)) return invalid("invalid ip address: " + address, "remote_addrs");
  matching->addresses.seal();
  if (!parsed->hosts.empty()) {
    data.own_hosts = true;
    matching->hosts = sdk::Ref<const router::HostList>(new router::HostList(parsed->hosts));
  }
  if (parsed->vars) {
    auto vars = sdk::Expression::compile(parsed->vars.get());
    if (!vars) return invalid("failed to validate the 'vars' expression: " + vars.error().reason, "vars");
    matching->has_vars = !vars->always();
    data.needs_body = vars->needs_request_body();
    matching->vars = std::move(*vars);
  }
  matching->set_patterns(parsed->uris, env.parameters);
  data.matching = std::move(matching);

  data.set = compile_plugins(env, parsed->plugins, key);
  if (data.set.error.empty() && !parsed->script.empty()) data.set.error = "scripting is not available";
  data.name = std::move(parsed->name);
  data.labels = std::move(parsed->labels);
  data.plugin_config_id = std::move(parsed->plugin_config_id);
  data.service_id = std::move(parsed->service_id);
  data.upstream_id = std::move(parsed->upstream_id);
  if (parsed->upstream && data.upstream_id.empty())
    data.inline_upstream = Upstream::compile(std::move(*parsed->upstream), key, env.upstreams);
  data.timeouts = to_timeouts(parsed->timeout);
  data.enable_websocket = parsed->enable_websocket;
  data.enabled = parsed->enabled;
  return data;
}

Result<ServiceData> compile_service(const CompileEnvironment& env, const Change& change, const Json& value) {
  auto parsed = conf::parse_service(value);
  if (!parsed) return parsed.error();
  const std::string key = resource_key_of(change.kind, change.id);
  ServiceData data;
  data.set = compile_plugins(env, parsed->plugins, key);
  if (data.set.error.empty() && !parsed->script.empty()) data.set.error = "scripting is not available";
  data.name = std::move(parsed->name);
  data.labels = std::move(parsed->labels);
  data.upstream_id = std::move(parsed->upstream_id);
  if (parsed->upstream && data.upstream_id.empty())
    data.inline_upstream = Upstream::compile(std::move(*parsed->upstream), key, env.upstreams);
  data.enable_websocket = parsed->enable_websocket;
  if (!parsed->hosts.empty()) data.hosts = sdk::Ref<const router::HostList>(new router::HostList(parsed->hosts));
  return data;
}

Result<sdk::Ref<Upstream>> compile_upstream(const CompileEnvironment& env, const Change& change, const Json& value) {
  auto parsed = conf::parse_upstream(value);
  if (!parsed) return parsed.error();
  parsed->id = change.id;
  return Upstream::compile(std::move(*parsed), resource_key_of(change.kind, change.id), env.upstreams);
}

Result<PluginData> compile_plugin_set(const CompileEnvironment& env, const Change& change, const Json& value) {
  auto parsed = change.kind == conf::Kind::plugin_config    ? conf::parse_plugin_config(value)
                : change.kind == conf::Kind::consumer_group ? conf::parse_consumer_group(value)
                                                            : conf::parse_global_rule(value);
  if (!parsed) return parsed.error();
  return compile_plugins(env, parsed->plugins, resource_key_of(change.kind, change.id));
}

Result<ConsumerData> compile_consumer(const CompileEnvironment& env, const Change& change, const Json& value) {
  auto parsed = conf::parse_consumer(value);
  if (!parsed) return parsed.error();
  ConsumerData data;
  conf::PluginConfs others;
  auto keys = take_keys(env, parsed->plugins, others);
  if (!keys) return keys.error();
  data.keys = std::move(*keys);
  data.set = compile_plugins(env, others, resource_key_of(change.kind, change.id));
  if (!data.set.error.empty()) return invalid(data.set.error);
  data.group_id = std::move(parsed->group_id);
  data.custom_id = std::move(parsed->custom_id);
  data.labels = std::move(parsed->labels);
  return data;
}

Result<CredentialData> compile_credential(const CompileEnvironment& env, const Change& change, const Json& value) {
  auto parsed = conf::parse_credential(value);
  if (!parsed) return parsed.error();
  constexpr std::string_view kMiddle = "/credentials/";
  const auto middle = change.id.find(kMiddle);
  if (middle == std::string::npos) return invalid("a credential's id must be <username>/credentials/<id>");
  CredentialData data;
  data.owner = change.id.substr(0, middle);
  data.bare_id = change.id.substr(middle + kMiddle.size());
  conf::PluginConfs others;
  auto keys = take_keys(env, parsed->plugins, others);
  if (!keys) return keys.error();
  if (!others.empty() && env.enabled.find(others.front().first) != nullptr)
    return invalid("plugin " + others.front().first + " is no authentication plugin");
  data.keys = std::move(*keys);
  return data;
}

}  // namespace sluice::live
