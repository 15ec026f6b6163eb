#include "admin/api/key_index.hpp"

#include "conf/schema/schema.hpp"
#include "plugins/sdk/registry.hpp"

namespace sluice::admin {

namespace {

// "consumers/jack" and "consumers/jack/credentials/a" -> ("jack", "") and ("jack", "a").
std::pair<std::string_view, std::string_view> owner_of(std::string_view key) {
  key.remove_prefix(std::string_view("consumers/").size());
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return {key, {}};
  return {key.substr(0, slash), key.substr(key.rfind('/') + 1)};
}

}  // namespace

std::vector<KeyIndex::Identity> KeyIndex::identities(const Json& value) {
  std::vector<Identity> out;
  const Json* plugins = find(value, "plugins");
  if (plugins == nullptr || !plugins->IsObject()) return out;
  for (auto m = plugins->MemberBegin(); m != plugins->MemberEnd(); ++m) {
    const sdk::PluginType* type = sdk::find_plugin(text_of(m->name));
    if (type == nullptr || type->consumer_key_field.empty()) continue;
    const Json* key = find(m->value, type->consumer_key_field);
    if (key == nullptr || !key->IsString() || schema::is_secret_reference(text_of(*key))) continue;
    out.push_back({std::string(text_of(m->name)), std::string(type->consumer_key_field), std::string(text_of(*key))});
  }
  return out;
}

void KeyIndex::changed(const std::string& key, const Object* before, const Object* after) {
  if (!key.starts_with("consumers/")) return;
  if (before != nullptr)
    for (const Identity& i : identities(before->plain.value())) {
      const auto at = holders_.find({i.plugin, i.value});
      if (at == holders_.end()) continue;
      at->second.erase(key);
      if (at->second.empty()) holders_.erase(at);
    }
  if (after != nullptr)
    for (const Identity& i : identities(after->plain.value())) holders_[{i.plugin, i.value}].insert(key);
}

std::string KeyIndex::conflict(std::string_view key, const Json& value) const {
  const auto [user, credential] = owner_of(key);
  for (const Identity& i : identities(value)) {
    const auto at = holders_.find({i.plugin, i.value});
    if (at == holders_.end()) continue;
    for (const std::string& holder : at->second) {
      const auto [other, other_credential] = owner_of(holder);
      if (other == user && (credential == other_credential || credential.empty() || other_credential.empty())) continue;
      std::string text = "duplicate " + i.field + " of plugin " + i.plugin + " found with ";
      if (!other_credential.empty()) text += "credential: " + std::string(other_credential) + " of ";
      return text + "consumer: " + std::string(other);
    }
  }
  return {};
}

}  // namespace sluice::admin
