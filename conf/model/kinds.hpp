// Kinds of configuration objects: one table for everyone who stores, serves or compiles them.
//
// A stored object is known by (kind, id). Its key is "<collection>/<id>"; a credential's id is
// "<username>/credentials/<id>" below `consumers`, a cost decoration's "<service>/graphql_cost_decorations/<id>" below
// `services`, a secret's "<manager>/<id>".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "conf/base/json.hpp"

namespace sluice::schema {
class Node;
}

namespace sluice::conf {

// The numbers travel between processes: add at the end only.
enum class Kind : std::uint8_t {
  route,
  service,
  upstream,
  consumer,
  credential,
  consumer_group,
  global_rule,
  plugin_config,
  plugin_metadata,
  ssl,
  proto,
  stream_route,
  secret,
  cost_decoration,
  plugins,
};
inline constexpr std::size_t kKindCount = 15;

struct KindInfo {
  Kind kind;
  std::string_view collection;   // "routes": in paths, keys and standalone files
  std::string_view word;         // "route", "consumer group": in messages
  std::string_view schema_name;  // "route", "consumer_group": in /schema/<name>
  std::string_view parent;       // "consumers", "services" for nested collections, else empty
  bool post, patch, sub_path;    // methods of the Admin API beyond GET, PUT, DELETE; PATCH with a sub-path
  bool id_in_schema;             // the value has an `id` that must agree with the path
  bool times;                    // create_time and update_time are kept
  bool in_standalone;            // has a section of its own in a standalone document
};

const KindInfo& info(Kind kind) noexcept;
std::span<const KindInfo> all_kinds() noexcept;

std::optional<Kind> kind_of_collection(std::string_view collection) noexcept;  // "routes", "credentials", …
std::optional<Kind> kind_of_schema(std::string_view schema_name) noexcept;     // "route", …

// "routes/1" <-> (route, "1"); "consumers/jack/credentials/a" <-> (credential, "jack/credentials/a").
struct KindAndId {
  Kind kind;
  std::string id;
};
std::optional<KindAndId> split_key(std::string_view key);
std::string join_key(Kind kind, std::string_view id);

// The schema of a kind's values. plugin_metadata: any object (the plugin has its own); secret: by manager, see
// secret_node().
const schema::Node& node_of(Kind kind);
// vault, aws, gcp; nullptr for others.
const schema::Node* secret_node(std::string_view manager);
// `_meta` of every plugin configuration.
const schema::Node& plugin_meta_node();
// A plugin's schema with `_meta` as one more property and what the reference adds when it publishes one.
schema::Node with_plugin_meta(const schema::Node& plugin_schema);

// 1..64 characters of [a-zA-Z0-9-_.].
bool valid_id(std::string_view id) noexcept;
// The id as text: strings as they are, integers in decimal; empty for anything else.
std::string id_text(const Json& value);

}  // namespace sluice::conf
