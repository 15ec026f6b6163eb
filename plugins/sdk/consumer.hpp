// Consumer: who makes a request, once an authentication plugin has said so. Compiled by the worker's live tables.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/sdk/ref.hpp"

namespace sluice::sdk {

struct PluginInstance;

struct Consumer : RefCounted {
  std::string name;
  std::string group_id;                                        // empty: none
  std::string custom_id;                                       // labels.custom_id
  std::vector<std::pair<std::string, std::string>> labels;
  // Ordinary plugins of the consumer over those of its group, each name once, by priority. Not authentication.
  std::vector<std::shared_ptr<const PluginInstance>> plugins;
  bool group_missing = false;                                  // group_id names nothing: its requests get 503
};

// What an authentication plugin finds under a key (API key, user name, key id).
struct Identity {
  Ref<const Consumer> consumer;
  std::string credential_id;             // empty: the consumer's own plugin configuration
  std::shared_ptr<const void> secret;    // the plugin's compiled consumer configuration (see PluginType::compile_consumer)
};

class ConsumerIndex {
 public:
  virtual ~ConsumerIndex() = default;
  // plugin: "key-auth"; key: the value of that plugin's unique field. nullptr when nobody has it.
  virtual const Identity* find(std::string_view plugin, std::string_view key) const noexcept = 0;
  virtual Ref<const Consumer> by_name(std::string_view name) const noexcept = 0;   // anonymous_consumer
};

}  // namespace sluice::sdk
