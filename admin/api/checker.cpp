#include "admin/api/checker.hpp"

#include <algorithm>

#include "admin/api/references.hpp"
#include "conf/model/check.hpp"
#include "conf/schema/schema.hpp"
#include "plugins/sdk/expression.hpp"

namespace sluice::admin {

using conf::Kind;

namespace {

constexpr const char* kNotBuilt = ",\"hint\":\"the plugin's name is known, but this build does not have it\"";

Refusal unknown_plugin(const std::string& name) {
  return Refusal{400, "unknown plugin [" + name + "]", sdk::known_but_not_built(name) ? kNotBuilt : ""};
}

std::string first_time(const Json* object) {
  if (object != nullptr && object->IsObject())
    for (const char* name : {"create_time", "update_time"})
      if (find(*object, name) != nullptr) return name;
  return {};
}

std::string_view manager_of(const Subject& subject) {
  return std::string_view(subject.id).substr(0, subject.id.find('/'));
}

}  // namespace

std::string forbidden_times(const Json& value) {
  const std::string text = "the property is forbidden:  ";
  if (std::string name = first_time(&value); !name.empty()) return text + name;
  if (std::string name = first_time(find(value, "upstream")); !name.empty()) return text + "upstream." + name;
  if (std::string name = first_time(find(value, "plugins")); !name.empty()) return text + "plugins." + name;
  return {};
}

Checker::Checker(const Image& image, const KeyIndex& keys, const sdk::EnabledPlugins& enabled, sdk::PluginHost host,
                 std::vector<std::string> stream_plugins)
    : image_(image),
      keys_(keys),
      enabled_(enabled),
      host_(std::move(host)),
      stream_plugins_(std::move(stream_plugins)) {
  host_.dry_run = true;
  host_.metadata = [this](std::string_view plugin) -> const Json* {
    const Object* object = image_.find("plugin_metadata/" + std::string(plugin));
    return object == nullptr ? nullptr : &object->plain.value();
  };
  host_.group_conf = [this](std::string_view plugin, std::string_view group) { return group_in_force(plugin, group); };
}

Outcome<void> Checker::check(const Subject& subject, const Json& value, bool from_admin) {
  return run(subject, value, true, from_admin);
}

Outcome<void> Checker::check_alone(const Subject& subject, const Json& value, bool from_admin) {
  return run(subject, value, false, from_admin);
}

Outcome<void> Checker::run(const Subject& subject, const Json& value, bool references, bool from_admin) {
  checked_key_ = subject.key;
  if (subject.kind == Kind::plugin_metadata) return check_metadata(subject, value);
  conf::CheckOptions options;
  options.from_admin = from_admin;
  options.manager = manager_of(subject);
  if (subject.kind == Kind::secret && conf::secret_node(options.manager) == nullptr)
    return bad_request("invalid secret manager: " + std::string(options.manager));
  JsonDoc copy;
  copy.CopyFrom(value, copy.GetAllocator());
  if (std::string m = conf::check_before_schema(subject.kind, copy); !m.empty()) return bad_request(std::move(m));
  if (std::string m = conf::check_schema(subject.kind, copy, copy.GetAllocator(), false, options); !m.empty())
    return bad_request("invalid configuration: " + m);
  if (references) {
    if (auto related = check_related(subject, value); !related) return related;
    if (std::string m = missing_reference(image_, subject.kind, subject.id, value); !m.empty())
      return bad_request(std::move(m));
  }
  if (const Json* plugins = find(value, "plugins"))
    if (auto good = check_plugins(subject, *plugins); !good) return good;
  if (const Json* vars = find(value, "vars"); vars != nullptr && subject.kind == Kind::route)
    if (auto compiled = sdk::Expression::compile(*vars); !compiled)
      return bad_request("failed to validate the 'vars' expression: " + compiled.error().reason);
  if (std::string m = conf::check_after_schema(subject.kind, value, options); !m.empty())
    return bad_request(std::move(m));
  return boost::system::in_place_value;
}

Outcome<void> Checker::check_metadata(const Subject& subject, const Json& value) {
  const sdk::PluginType* type = enabled_.find(subject.id);
  // Metadata of a plugin that the node lists but this build does not have is kept as it is: it does nothing by itself,
  // and configurations move here whole.
  const auto& unbuilt = enabled_.unbuilt();
  const bool kept = type == nullptr && sdk::known_but_not_built(subject.id) &&
                    std::find(unbuilt.begin(), unbuilt.end(), subject.id) != unbuilt.end();
  if (type == nullptr && !kept) return Refusal{400, "invalid plugin name", {}};
  JsonDoc copy;
  copy.CopyFrom(value, copy.GetAllocator());
  if (!copy.IsObject())
    return bad_request(std::string("invalid configuration: wrong type: expected object, got ") + type_name(copy));
  if (kept || type->metadata_schema == nullptr) return boost::system::in_place_value;
  copy.RemoveMember("id");
  if (std::string m = schema::validate(*type->metadata_schema, copy, copy.GetAllocator(), false); !m.empty())
    return bad_request("invalid configuration: " + m);
  return boost::system::in_place_value;
}

Outcome<void> Checker::check_plugins(const Subject& subject, const Json& plugins) {
  checked_key_ = subject.key;
  if (!plugins.IsObject()) return boost::system::in_place_value;  // the schema has its own words for it
  for (auto m = plugins.MemberBegin(); m != plugins.MemberEnd(); ++m) {
    const std::string name(text_of(m->name));
    auto good = subject.kind == Kind::stream_route ? check_stream_plugin(name, m->value)
                                                   : check_one_plugin(subject, name, m->value);
    if (good) continue;
    Refusal refusal = good.error();
    if (subject.kind == Kind::consumer || subject.kind == Kind::credential)
      refusal.message = "invalid plugins configuration: " + refusal.message;
    return refusal;
  }
  if (subject.kind == Kind::credential)
    for (auto m = plugins.MemberBegin(); m != plugins.MemberEnd(); ++m)
      if (enabled_.find(text_of(m->name))->traits.kind != sdk::PluginKind::auth)
        return bad_request("only supports auth type plugins in consumer credential");
  return boost::system::in_place_value;
}

Outcome<void> Checker::check_one_plugin(const Subject& subject, const std::string& name, const Json& conf) {
  if (conf.IsObject() && enabled_.find(name) == nullptr) return unknown_plugin(name);
  const sdk::PluginType* type = enabled_.find(name);
  const bool identity = (subject.kind == Kind::consumer || subject.kind == Kind::credential) && type != nullptr &&
                        type->consumer_schema != nullptr;
  if (identity || type == nullptr || !conf.IsObject()) {
    auto good =
        identity ? sdk::check_consumer_plugin_conf(enabled_, name, conf) : sdk::check_plugin_conf(enabled_, name, conf);
    if (!good) return bad_request(good.error().reason);
    return boost::system::in_place_value;
  }
  auto compiled = sdk::compile_plugin_conf(enabled_, name, conf, host_, "/apisix/" + subject.key);
  if (!compiled) return bad_request(compiled.error().reason);
  return boost::system::in_place_value;
}

// Stream plugins are stored and served later; those whose HTTP side is built are checked by it.
Outcome<void> Checker::check_stream_plugin(const std::string& name, const Json& conf) {
  if (std::find(stream_plugins_.begin(), stream_plugins_.end(), name) == stream_plugins_.end())
    return bad_request("unknown plugin [" + name + "]");
  if (!conf.IsObject()) return bad_request("invalid plugin conf " + to_json(conf) + " for plugin [" + name + "]");
  if (sdk::find_plugin(name) == nullptr) return boost::system::in_place_value;
  auto good = sdk::check_plugin_conf(enabled_, name, conf);
  if (good) return boost::system::in_place_value;
  std::string message = good.error().reason;
  const std::string http = "failed to check the configuration of plugin " + name + " err: ";
  if (message.starts_with(http))
    message = "failed to check the configuration of stream plugin [" + name + "]: " + message.substr(http.size());
  return bad_request(std::move(message));
}

// What must exist or must be unique besides references by id.
Outcome<void> Checker::check_related(const Subject& subject, const Json& value) {
  if (subject.kind == Kind::credential || subject.kind == Kind::cost_decoration) {
    const std::string parent = subject.key.substr(0, subject.key.find('/', subject.key.find('/') + 1));
    if (image_.find(parent) == nullptr)
      return Refusal{404, subject.kind == Kind::credential ? "consumer not found" : "service not found", {}};
  }
  if (subject.kind == Kind::credential || subject.kind == Kind::consumer)
    if (std::string m = keys_.conflict(subject.key, value); !m.empty()) return bad_request(std::move(m));
  std::string taken;
  if (subject.kind == Kind::cost_decoration) {
    const std::string prefix = subject.key.substr(0, subject.key.rfind('/') + 1);
    const Json* path = find(value, "field_path");
    image_.each(prefix, [&](const Object& other) {
      const Json* theirs = find(other.plain.value(), "field_path");
      if (other.key != subject.key && path != nullptr && theirs != nullptr && equal_json(*path, *theirs))
        taken = "field_path " + std::string(text_of(*path)) + " is already decorated on this service by [" +
                other.key.substr(prefix.size()) + "]";
      return taken.empty();
    });
  }
  const Json* plugins = find(value, "plugins");
  if (subject.kind == Kind::global_rule && plugins != nullptr && plugins->IsObject())
    image_.each("global_rules/", [&](const Object& other) {
      const Json* theirs = find(other.plain.value(), "plugins");
      if (other.key == subject.key || theirs == nullptr) return true;
      for (auto m = plugins->MemberBegin(); taken.empty() && m != plugins->MemberEnd(); ++m)
        if (find(*theirs, text_of(m->name)) != nullptr)
          taken = "plugin '" + std::string(text_of(m->name)) + "' already exists in global rule with id '" +
                  other.key.substr(13) + "'";
      return taken.empty();
    });
  if (!taken.empty()) return bad_request(std::move(taken));
  return boost::system::in_place_value;
}

std::string Checker::group_in_force(std::string_view plugin, std::string_view group) const {
  std::string found;
  image_.each("", [&](const Object& object) {
    if (object.key == checked_key_) return true;
    const Json* plugins = find(object.plain.value(), "plugins");
    const Json* conf = plugins != nullptr ? find(*plugins, plugin) : nullptr;
    const Json* name = conf != nullptr ? find(*conf, "group") : nullptr;
    if (name == nullptr || text_of(*name) != group) return true;
    found = canonical_json(*conf);
    return false;
  });
  return found;
}

}  // namespace sluice::admin
