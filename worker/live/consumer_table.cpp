#include "worker/live/consumer_table.hpp"

#include <algorithm>

namespace sluice::live {
namespace {

// The consumer's plugins over those of its group, each name once, by priority.
Instances merged(const Instances& own, const Instances* group) {
  Instances all = own;
  if (group != nullptr)
    for (const auto& lower : *group)
      if (std::none_of(own.begin(), own.end(), [&](const auto& mine) { return mine->type == lower->type; }))
        all.push_back(lower);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    if (a->priority != b->priority) return a->priority > b->priority;
    return a->type->traits.name < b->type->traits.name;
  });
  return all;
}

}  // namespace

const sdk::Identity* ConsumerTable::find(std::string_view plugin, std::string_view key) const noexcept {
  const auto entries = plugins_.find(plugin);
  if (entries == plugins_.end()) return nullptr;
  const auto hit = entries->second.find(key);
  return hit == entries->second.end() ? nullptr : &hit->second.front().identity;
}

sdk::Ref<const sdk::Consumer> ConsumerTable::by_name(std::string_view name) const noexcept {
  const auto hit = names_.find(name);
  return hit == names_.end() ? sdk::Ref<const sdk::Consumer>() : hit->second;
}

bool ConsumerTable::add(const AuthKey& key, const Record& owner, sdk::Identity identity) {
  auto& list = plugins_[key.plugin][key.value];
  list.push_back({&owner, std::move(identity)});
  ++keys_;
  return list.size() == 1;
}

void ConsumerTable::remove_keys(const std::vector<AuthKey>& keys, const Record& owner) {
  for (const AuthKey& key : keys) {
    const auto entries = plugins_.find(key.plugin);
    if (entries == plugins_.end()) continue;
    const auto hit = entries->second.find(key.value);
    if (hit == entries->second.end()) continue;
    keys_ -= hit->second.remove_if([&](const Entry& e) { return e.owner == &owner; });
    if (hit->second.empty()) entries->second.erase(hit);
  }
}

std::vector<std::string> ConsumerTable::enter(ConsumerRecord& record) {
  remove(record);
  if (!record.present) return {};
  auto consumer = sdk::make_ref<sdk::Consumer>();
  consumer->name = record.id;
  consumer->group_id = record.data.group_id;
  consumer->custom_id = record.data.custom_id;
  consumer->labels = record.data.labels;
  const bool has_group = record.group != nullptr && record.group->present && record.group->set.error.empty();
  consumer->group_missing = record.group != nullptr && !has_group;
  consumer->plugins = merged(record.data.set.plugins, has_group ? &record.group->set.plugins : nullptr);
  record.consumer = consumer;
  names_[record.id] = consumer;

  std::vector<std::string> taken;
  const auto enter_keys = [&](const std::vector<AuthKey>& keys, const Record& owner, const std::string& credential) {
    for (const AuthKey& key : keys)
      if (!add(key, owner, {consumer, credential, key.secret}))
        taken.push_back("another consumer has the same key for plugin " + std::string(key.plugin));
  };
  enter_keys(record.data.keys, record, {});
  for (const CredentialRecord* credential : record.credentials)
    if (credential->present) enter_keys(credential->data.keys, *credential, credential->data.bare_id);
  return taken;
}

void ConsumerTable::remove(ConsumerRecord& record) {
  remove_keys(record.data.keys, record);
  for (const CredentialRecord* credential : record.credentials) remove_credential(*credential);
  if (record.consumer) names_.erase(record.id);
  record.consumer.reset();
}

void ConsumerTable::remove_credential(const CredentialRecord& credential) {
  remove_keys(credential.data.keys, credential);
}

}  // namespace sluice::live
