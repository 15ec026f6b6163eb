// What the tables keep of each object, and what compiling one object yields. Inside worker/live only.
//
// A Record exists as soon as somebody names its (kind, id); `present` says whether there is an object in force. Others
// point to it: it stays as long as it is present or has users. Data is the outcome of compiling one stored value; it is
// made beside the tables and moved into the record when the batch is published.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/model/kinds.hpp"
#include "plugins/sdk/consumer.hpp"
#include "plugins/sdk/plugin.hpp"
#include "worker/live/compiled_route.hpp"
#include "worker/live/upstream.hpp"
#include "worker/router/route.hpp"

namespace sluice::live {

using Instances = std::vector<std::shared_ptr<const sdk::PluginInstance>>;
using LabelList = std::vector<std::pair<std::string, std::string>>;

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
};
template <class T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

// A set of plugins as configured in one place. error: why its users have to refuse their requests.
struct PluginData {
  Instances plugins;
  std::string error;
};

struct RouteData {
  sdk::Ref<router::Route> matching;
  PluginData set;
  std::string name, plugin_config_id, service_id, upstream_id;
  LabelList labels;
  sdk::Ref<Upstream> inline_upstream;
  std::optional<Timeouts> timeouts;
  std::optional<bool> enable_websocket;
  bool own_hosts = false;
  bool enabled = true;
  bool needs_body = false;      // its conditions read the request body
};

struct ServiceData {
  PluginData set;
  std::string name, upstream_id;
  LabelList labels;
  sdk::Ref<Upstream> inline_upstream;
  std::optional<bool> enable_websocket;
  sdk::Ref<const router::HostList> hosts;
};

// The unique value of an authentication plugin's consumer configuration.
struct AuthKey {
  std::string_view plugin;      // name in the plugin's traits
  std::string value;
  std::shared_ptr<const void> secret;   // what the plugin compiled of the configuration
};

struct ConsumerData {
  PluginData set;
  std::string group_id, custom_id;
  LabelList labels;
  std::vector<AuthKey> keys;
};

struct CredentialData {
  std::string owner, bare_id;
  std::vector<AuthKey> keys;
};

struct Record {
  virtual ~Record() = default;
  std::string id;
  std::string json;
  std::vector<std::string> plugin_names;   // that it configures: who has to be compiled anew with a plugin's metadata
  std::uint64_t created = 0, modified = 0;
  std::uint64_t mark = 0;       // the last batch that named it
  std::uint32_t users = 0;      // records that point here
  bool present = false;
};

struct UpstreamRecord : Record {
  sdk::Ref<UpstreamCell> cell = sdk::make_ref<UpstreamCell>();
  sdk::Ref<Upstream> upstream;
};

struct RouteRecord;

struct ServiceRecord : Record {
  ServiceData data;
  std::uint64_t version = 0;
  UpstreamRecord* upstream = nullptr;
  RouteRecord* dependants = nullptr;
  sdk::Ref<const SharedChain> chain;   // of routes that add no plugins, made at first use
};

struct PluginSetRecord : Record {      // plugin_config, global_rule
  PluginData set;
  std::uint64_t version = 0;
};

struct RouteRecord : Record {
  RouteData data;
  ServiceRecord* service = nullptr;
  PluginSetRecord* plugin_config = nullptr;
  UpstreamRecord* upstream = nullptr;
  RouteRecord *next = nullptr, *previous = nullptr;   // among the service's dependants
  bool in_router = false;
  // Made at the first request, good while the versions are those of service and plugin config.
  sdk::Ref<const CompiledRoute> compiled;
  std::uint64_t service_version = 0, plugin_config_version = 0;

  bool stale() const noexcept {
    return !compiled || service_version != (service ? service->version : 0) ||
           plugin_config_version != (plugin_config ? plugin_config->version : 0);
  }
};

struct ConsumerRecord;

struct GroupRecord : Record {
  PluginData set;
  std::unordered_set<ConsumerRecord*> dependants;
};

struct CredentialRecord : Record {
  CredentialData data;
  ConsumerRecord* owner = nullptr;
};

struct ConsumerRecord : Record {
  ConsumerData data;
  GroupRecord* group = nullptr;
  std::unordered_set<CredentialRecord*> credentials;
  sdk::Ref<const sdk::Consumer> consumer;
};

struct MetadataRecord : Record {
  std::shared_ptr<const JsonDoc> doc;
};

struct StoredRecord : Record {};       // kinds that are only kept for inspection here

}  // namespace sluice::live
