// The inside of Tables: records by kind, and what putting one object in force or taking it out means for the others.
//
// put_* and take_out are the only ways in and out; each keeps router, names, consumers and the links between records
// consistent by itself, so a batch may be published object by object in any order. Included by tables*.cpp and stager.cpp.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "worker/live/consumer_table.hpp"
#include "worker/live/name_table.hpp"
#include "worker/live/object_compiler.hpp"
#include "worker/live/tables.hpp"
#include "worker/router/route_matcher.hpp"

namespace sluice::live {

struct RecordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view id) const noexcept { return std::hash<std::string_view>{}(id); }
  std::size_t operator()(const std::unique_ptr<Record>& r) const noexcept { return (*this)(r->id); }
};
struct RecordEqual {
  using is_transparent = void;
  static std::string_view id(std::string_view i) noexcept { return i; }
  static std::string_view id(const std::unique_ptr<Record>& r) noexcept { return r->id; }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const noexcept { return id(a) == id(b); }
};
using RecordSet = std::unordered_set<std::unique_ptr<Record>, RecordHash, RecordEqual>;

// What compiling one change gave.
using Compiled = std::variant<std::monostate, RouteData, ServiceData, sdk::Ref<Upstream>, PluginData, ConsumerData,
                              CredentialData, std::shared_ptr<const JsonDoc>, std::vector<std::string>>;

struct Tables::Impl {
  Impl(const TablesOptions& options, const sdk::PluginHost& host, const sdk::EnabledPlugins& enabled);

  // ---- records
  RecordSet& set_of(conf::Kind kind) noexcept { return records[static_cast<std::size_t>(kind)]; }
  const RecordSet& set_of(conf::Kind kind) const noexcept { return records[static_cast<std::size_t>(kind)]; }
  Record* find(conf::Kind kind, std::string_view id) const noexcept;
  Record& get_or_make(conf::Kind kind, std::string_view id);
  template <class T>
  T* use(conf::Kind kind, const std::string& id);     // one more user; null for an empty id
  void release(conf::Kind kind, Record* record);      // one user less; forgets a record that nobody needs

  // ---- in and out
  // Puts a compiled change in force. What is worth telling goes to `errors`.
  void put(const Change& change, std::string json, std::vector<std::string> plugin_names, Compiled data,
           std::vector<ObjectError>& errors);
  void take_out(conf::Kind kind, Record& record);
  // Everything present of this kind that `batch` did not name.
  void sweep(std::uint64_t batch);
  void rebuild_globals();

  void put_route(RouteRecord& record, RouteData data);
  void put_service(ServiceRecord& record, ServiceData data);
  void put_upstream(UpstreamRecord& record, sdk::Ref<Upstream> upstream);
  void put_group(GroupRecord& record, PluginData set);
  void put_consumer(ConsumerRecord& record, ConsumerData data, std::vector<std::string>& taken);
  void put_credential(CredentialRecord& record, CredentialData data, std::vector<std::string>& taken);
  void set_plugin_names(Record& record, std::vector<std::string> names);

  void unlink_route(RouteRecord& record);
  void link_route(RouteRecord& record);
  void inherit_hosts(ServiceRecord& record);
  void show_route(RouteRecord& record);               // into the router
  void hide_route(RouteRecord& record);
  void unlink_service(ServiceRecord& record);
  void clear_owner(CredentialRecord& record);

  const Json* metadata(std::string_view plugin) const noexcept;
  CompileEnvironment compile_environment(const sdk::EnabledPlugins& with) const {
    return {host, with, options.refuse_disabled_plugins, matcher.parameters(), upstreams};
  }

  Tables* owner = nullptr;
  TablesOptions options;
  sdk::PluginHost host;                               // as given, with our metadata
  sdk::EnabledPlugins configured, enabled;            // of the node file; in force (a `plugins` object may replace it)
  Upstream::Environment upstreams;
  router::RouteMatcher matcher;
  std::array<RecordSet, conf::kKindCount> records;
  std::array<std::size_t, conf::kKindCount> present{};
  TextMap<std::unordered_set<Record*>> plugin_users;
  ConsumerTable consumers;
  NameTable names;
  sdk::Ref<const SharedChain> globals;
  bool globals_changed = false;
  std::uint64_t clock = 0;                            // of versions
  std::uint64_t batch = 0;                            // of marks
  std::size_t body_routes = 0;                        // routes in the router whose conditions read the body
  // Metadata of the batch that is being compiled, before what is in force; a null doc: removed.
  const TextMap<std::shared_ptr<const JsonDoc>>* overlay = nullptr;
  bool collecting = false;                            // between begin_snapshot() and end_snapshot()
  std::vector<Change> collected;
};

}  // namespace sluice::live
