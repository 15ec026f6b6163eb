// The configuration objects as typed structs: what the workers and the admin process compile from.
//
// parse_<kind>(value) takes a stored value (without defaults), validates a copy with defaults filled in and returns the
// struct, or the message that a log line needs. Plugin configurations stay JSON (name -> JsonCopy): only the plugins
// know them. Expressions (`vars`) stay JSON too. Ids are texts, whatever they were in the document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "conf/model/upstream.hpp"
#include "conf/schema/json_copy.hpp"

namespace sluice::conf {

using PluginConfs = std::vector<std::pair<std::string, schema::JsonCopy>>;  // in the order of the document
using Labels = std::vector<std::pair<std::string, std::string>>;

struct Route {
  std::string id, name, desc;
  Labels labels;
  std::vector<std::string> uris;          // uri or uris
  std::vector<std::string> hosts;         // host or hosts, lower case; empty: any (or the service's)
  std::vector<std::string> remote_addrs;  // remote_addr or remote_addrs
  std::vector<std::string> methods;       // empty: all
  std::int64_t priority = 0;
  schema::JsonCopy vars;                  // an array, or null
  std::string filter_func;                // Lua source
  std::string script;                     // Lua source
  PluginConfs plugins;
  std::string plugin_config_id;
  std::optional<Upstream> upstream;
  std::string upstream_id;
  std::string service_id;
  std::optional<Timeout> timeout;
  std::optional<bool> enable_websocket;
  bool enabled = true;                    // status
};

struct Service {
  std::string id, name, desc;
  Labels labels;
  PluginConfs plugins;
  std::optional<Upstream> upstream;
  std::string upstream_id;
  std::string script;
  std::optional<bool> enable_websocket;
  std::vector<std::string> hosts;         // lower case
};

struct Consumer {
  std::string username, id, desc;
  std::string group_id;
  Labels labels;
  std::string custom_id;                  // labels.custom_id
  PluginConfs plugins;
};

struct Credential {
  std::string id;                         // bare
  std::string name, desc;
  Labels labels;
  PluginConfs plugins;                    // at most one
};

// consumer_group, plugin_config and global_rule: an id and a set of plugins.
struct PluginSet {
  std::string id, name, desc;
  Labels labels;
  PluginConfs plugins;
};
using ConsumerGroup = PluginSet;
using PluginConfig = PluginSet;
using GlobalRule = PluginSet;

struct Ssl {
  std::string id, desc;
  Labels labels;
  bool client = false;                    // type: client
  std::vector<std::string> snis;          // sni or snis; lower case, no trailing dot
  std::vector<std::pair<std::string, std::string>> pairs;  // certificate, key: cert/key, then certs/keys
  std::string client_ca;                  // empty: no client certificates
  int client_depth = 1;
  std::vector<std::string> skip_mtls_uri_regex;
  bool enabled = true;
  std::vector<std::string> protocols;     // empty: the node's
};

struct Proto {
  std::string id, name, desc;
  std::string content;
};

struct StreamRoute {
  std::string id, name, desc;
  std::string remote_addr, server_addr;
  std::uint16_t server_port = 0;          // 0: any
  std::string sni;
  std::optional<Upstream> upstream;
  std::string upstream_id, service_id;
  PluginConfs plugins;
  std::string protocol_name, protocol_superior_id;
  schema::JsonCopy protocol;
};

struct CostDecoration {
  std::string id, service_id;
  std::string field_path;
  double add_value = 1, mul_value = 1;
  std::vector<std::string> add_arguments, mul_arguments;
};

struct PluginListEntry {
  std::string name;
  bool stream = false;
};

Result<Route> parse_route(const Json& value);
Result<Service> parse_service(const Json& value);
Result<Upstream> parse_upstream(const Json& value);
Result<Consumer> parse_consumer(const Json& value);
Result<Credential> parse_credential(const Json& value);
Result<ConsumerGroup> parse_consumer_group(const Json& value);
Result<PluginConfig> parse_plugin_config(const Json& value);
Result<GlobalRule> parse_global_rule(const Json& value);
Result<Ssl> parse_ssl(const Json& value);
Result<Proto> parse_proto(const Json& value);
Result<StreamRoute> parse_stream_route(const Json& value);
Result<CostDecoration> parse_cost_decoration(const Json& value);
Result<std::vector<PluginListEntry>> parse_plugin_list(const Json& value);

}  // namespace sluice::conf
