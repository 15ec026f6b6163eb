#include "admin/store/sealer.hpp"

#include "conf/schema/schema.hpp"
#include "plugins/sdk/registry.hpp"

namespace sluice::admin {

namespace {
enum Which { route_side, consumer_side, metadata_side };

bool is_pem(std::string_view text) { return text.find("-----BEGIN") != std::string_view::npos; }

Json* member(Json& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto at = object.FindMember(name);
  return at == object.MemberEnd() ? nullptr : &at->value;
}
}  // namespace

const std::vector<std::string>& Sealer::paths_of(std::string_view plugin, int which) const {
  const auto [at, fresh] = paths_.try_emplace({std::string(plugin), which});
  if (!fresh) return at->second;
  const sdk::PluginType* type = sdk::find_plugin(plugin);
  if (type == nullptr) return at->second;
  const schema::Node* node = which == route_side      ? type->schema
                             : which == consumer_side ? type->consumer_schema
                                                      : type->metadata_schema;
  if (node != nullptr) at->second = schema::encrypted_paths(*node);
  return at->second;
}

void Sealer::turn(Json& text, Way way, JsonDoc::AllocatorType& alloc) const {
  const std::string_view now = text_of(text);
  if (now.empty() || schema::is_secret_reference(now)) return;
  const std::string then = way == Way::in ? keyring_.encrypt(now) : keyring_.decrypt_or_same(now);
  text.SetString(then.data(), static_cast<rapidjson::SizeType>(then.size()), alloc);
}

// `path`: members joined by '.'; arrays on the way are walked, an object at its end has each of its texts turned.
void Sealer::field(Json& at, std::string_view path, Way way, JsonDoc::AllocatorType& alloc) const {
  if (at.IsArray()) {
    for (Json& item : at.GetArray()) field(item, path, way, alloc);
  } else if (path.empty()) {
    if (at.IsString()) turn(at, way, alloc);
    if (at.IsObject())
      for (auto m = at.MemberBegin(); m != at.MemberEnd(); ++m)
        if (m->value.IsString()) turn(m->value, way, alloc);
  } else if (at.IsObject()) {
    const auto dot = path.find('.');
    if (Json* next = member(at, std::string(path.substr(0, dot)).c_str()))
      field(*next, dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1), way, alloc);
  }
}

void Sealer::fields(Json& conf, const std::vector<std::string>& paths, Way way, JsonDoc::AllocatorType& alloc) const {
  for (const std::string& path : paths) field(conf, path, way, alloc);
}

void Sealer::plugins(Json& plugins, bool consumer, Way way, JsonDoc::AllocatorType& alloc) const {
  if (!plugins.IsObject()) return;
  for (auto m = plugins.MemberBegin(); m != plugins.MemberEnd(); ++m) {
    const std::string_view name = text_of(m->name);
    const sdk::PluginType* type = sdk::find_plugin(name);
    if (type == nullptr || !m->value.IsObject()) continue;
    const int which = consumer && type->consumer_schema != nullptr ? consumer_side : route_side;
    fields(m->value, paths_of(name, which), way, alloc);
  }
}

void Sealer::keys(conf::Kind kind, Json& value, Way way, JsonDoc::AllocatorType& alloc) const {
  if (keyring_.empty()) return;
  // Only PEM is sealed and only what is not PEM is opened: doing it twice changes nothing.
  const auto one = [&](Json& text) {
    if (text.IsString() && is_pem(text_of(text)) == (way == Way::in)) turn(text, way, alloc);
  };
  if (kind == conf::Kind::ssl) {
    if (Json* key = member(value, "key")) one(*key);
    if (Json* list = member(value, "keys"); list != nullptr && list->IsArray())
      for (Json& key : list->GetArray()) one(key);
    return;
  }
  Json* upstream = kind == conf::Kind::upstream ? &value : member(value, "upstream");
  Json* tls = upstream != nullptr ? member(*upstream, "tls") : nullptr;
  if (tls == nullptr) return;
  if (Json* key = member(*tls, "client_key")) one(*key);
}

void Sealer::all(conf::Kind kind, std::string_view id, Json& value, Way way, JsonDoc::AllocatorType& alloc) const {
  if (!value.IsObject()) return;
  keys(kind, value, way, alloc);
  if (!encrypt_fields_ || keyring_.empty()) return;
  if (kind == conf::Kind::plugin_metadata) {
    fields(value, paths_of(id, metadata_side), way, alloc);
  } else if (kind == conf::Kind::secret) {
    if (const schema::Node* node = conf::secret_node(id.substr(0, id.find('/'))))
      fields(value, schema::encrypted_paths(*node), way, alloc);
  } else if (Json* set = member(value, "plugins")) {
    plugins(*set, kind == conf::Kind::consumer || kind == conf::Kind::credential, way, alloc);
  }
}

void Sealer::seal(conf::Kind kind, std::string_view id, Json& value, JsonDoc::AllocatorType& alloc) const {
  all(kind, id, value, Way::in, alloc);
}

void Sealer::unseal(conf::Kind kind, std::string_view id, Json& value, JsonDoc::AllocatorType& alloc) const {
  all(kind, id, value, Way::out, alloc);
}

void Sealer::open_keys(conf::Kind kind, Json& value, JsonDoc::AllocatorType& alloc) const {
  if (value.IsObject()) keys(kind, value, Way::out, alloc);
}

void Sealer::redact(conf::Kind kind, Json& value, JsonDoc::AllocatorType& alloc) const {
  if (!value.IsObject()) return;
  if (kind == conf::Kind::ssl) {
    value.RemoveMember("key");
    value.RemoveMember("keys");
  } else {
    keys(kind, value, Way::in, alloc);
  }
}

}  // namespace sluice::admin
