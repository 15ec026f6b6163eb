// From a plugin's configuration as it stands in a resource to the reference's message, or to an instance.
#include "plugins/sdk/check.hpp"

#include <zlib.h>

#include "conf/base/log.hpp"
#include "plugins/sdk/process_host.hpp"
#include "plugins/sdk/registry.hpp"

namespace sluice::sdk {

namespace {

std::string quoted(std::string_view name) { return "[" + std::string(name) + "]"; }

// An empty list cannot be told from an empty object in the reference.
bool is_configuration(const Json& conf) noexcept { return conf.IsObject() || (conf.IsArray() && conf.Empty()); }

Result<const PluginType*> type_for(const EnabledPlugins& enabled, std::string_view name, const Json& conf) {
  if (!is_configuration(conf)) return invalid("invalid plugin conf " + to_json(conf) + " for plugin " + quoted(name));
  if (const PluginType* type = enabled.find(name)) return type;
  std::string message = "unknown plugin " + quoted(name);
  if (known_but_not_built(name)) message += " (the name is known, but this build does not have it)";
  return invalid(std::move(message));
}

std::string with_prefix(std::string_view name, const std::string& message) {
  return "failed to check the configuration of plugin " + std::string(name) + " err: " + message;
}

// The configuration without `_meta`, defaults filled in, and `_meta` compiled.
struct Checked {
  JsonDoc conf;
  Meta meta;
  std::string version;
};

Result<Checked> check_all(const PluginType& type, std::string_view name, const Json& given) {
  Checked out;
  auto& alloc = out.conf.GetAllocator();
  out.conf.CopyFrom(given, alloc);
  if (out.conf.IsArray()) out.conf.SetObject();
  Json meta;
  if (auto at = out.conf.FindMember("_meta"); at != out.conf.MemberEnd()) {
    meta.CopyFrom(at->value, alloc);
    out.conf.RemoveMember(at);
    if (std::string message = check_meta_shape(meta); !message.empty())
      return invalid(with_prefix(name, "property \"_meta\" validation failed: " + message));
  }
  const Json* disable = meta.IsObject() ? find(meta, "disable") : nullptr;
  if (std::string message = type.check(out.conf, alloc); !message.empty()) {
    if (disable == nullptr || !disable->IsTrue()) return invalid(with_prefix(name, message));
    log::warn(with_prefix(name, message) + " (it is disabled)");
  }
  if (meta.IsObject()) {
    auto compiled = compile_meta(meta, name);
    if (!compiled) return compiled.error();
    out.meta = std::move(*compiled);
  }
  JsonDoc whole;
  whole.CopyFrom(out.conf, whole.GetAllocator());
  if (meta.IsObject()) set_member(whole, "_meta", Json(meta, whole.GetAllocator()), whole.GetAllocator());
  out.version = conf_version_of(whole);
  return out;
}

}  // namespace

std::string conf_version_of(const Json& conf_with_defaults) {
  const std::string text = canonical_json(conf_with_defaults);
  const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  return std::to_string(crc);
}

Result<void> check_plugin_conf(const EnabledPlugins& enabled, std::string_view name, const Json& conf) {
  const auto type = type_for(enabled, name, conf);
  if (!type) return type.error();
  if (auto checked = check_all(**type, name, conf); !checked) return checked.error();
  return {};
}

namespace {

// The consumer's side of `type` without `_meta`, defaults filled in.
Result<JsonDoc> checked_consumer(const PluginType& type, std::string_view name, const Json& given) {
  JsonDoc conf;
  auto& alloc = conf.GetAllocator();
  conf.CopyFrom(given, alloc);
  if (conf.IsArray()) conf.SetObject();
  if (auto at = conf.FindMember("_meta"); at != conf.MemberEnd()) {
    Json meta;
    meta.CopyFrom(at->value, alloc);
    conf.RemoveMember(at);
    if (std::string message = check_meta_shape(meta); !message.empty())
      return invalid(with_prefix(name, "property \"_meta\" validation failed: " + message));
    if (auto compiled = compile_meta(meta, name); !compiled) return compiled.error();
  }
  std::string message = schema::validate(*type.consumer_schema, conf, alloc);
  if (message.empty() && type.check_consumer != nullptr) message = type.check_consumer(conf);
  if (!message.empty()) return invalid(with_prefix(name, message));
  return conf;
}

bool has_secret_reference(const Json& value) noexcept {
  if (value.IsString()) return schema::is_secret_reference(text_of(value));
  if (value.IsObject())
    for (const auto& m : value.GetObject())
      if (has_secret_reference(m.value)) return true;
  if (value.IsArray())
    for (const auto& item : value.GetArray())
      if (has_secret_reference(item)) return true;
  return false;
}

}  // namespace

Result<void> check_consumer_plugin_conf(const EnabledPlugins& enabled, std::string_view name, const Json& conf) {
  const auto type = type_for(enabled, name, conf);
  if (!type) return type.error();
  if ((*type)->consumer_schema == nullptr) return check_plugin_conf(enabled, name, conf);
  if (auto checked = checked_consumer(**type, name, conf); !checked) return checked.error();
  return {};
}

Result<std::shared_ptr<const void>> compile_consumer_conf(const PluginType& type, const Json& conf) {
  if (type.consumer_schema == nullptr || type.compile_consumer == nullptr) return std::shared_ptr<const void>();
  auto checked = checked_consumer(type, type.traits.name, conf);
  if (!checked) return checked.error();
  resolve_environment(*checked, checked->GetAllocator());
  if (has_secret_reference(*checked)) return std::shared_ptr<const void>();  // matches nobody until it can be resolved
  return type.compile_consumer(*checked);
}

Result<std::shared_ptr<const PluginInstance>> compile_plugin_conf(const EnabledPlugins& enabled, std::string_view name,
                                                                  const Json& conf, const PluginHost& host,
                                                                  const std::string& resource_key) {
  const auto type = type_for(enabled, name, conf);
  if (!type) return type.error();
  auto checked = check_all(**type, name, conf);
  if (!checked) return checked.error();
  PluginInstance instance;
  if (!checked->meta.disable) {
    resolve_environment(checked->conf, checked->conf.GetAllocator());
    if (!host.dry_run) set_process_host(&host);
    CompileContext context(host, resource_key, checked->version);
    auto compiled = (*type)->compile(checked->conf, context);
    if (!compiled) {
      Error error = compiled.error();
      error.reason = with_prefix(name, error.reason);
      return error;
    }
    instance = std::move(*compiled);
    if (checked->meta.filter && checked->meta.filter->needs_request_body()) instance.needs.request_body = true;
  }
  instance.type = *type;
  instance.priority = checked->meta.priority.value_or((*type)->traits.priority);
  instance.resource_key = resource_key;
  instance.conf_version = checked->version;
  instance.meta = std::move(checked->meta);
  return std::make_shared<const PluginInstance>(std::move(instance));
}

}  // namespace sluice::sdk
