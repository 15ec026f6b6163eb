// Tables: everything a worker knows of the configuration, kept up to date change by change.
//
// Stage, then flip: a batch is parsed and compiled beside the tables (in slices, see Stager), then put in force in one
// step that does not yield. Objects refer to each other through cells that exist as soon as somebody names an id, so the
// order inside a batch does not matter. What depends on a changed object finds out by version at its next use.
// An object that does not compile keeps its old version when there is one; a route without an old version is put in
// force refusing its own requests. Every error is returned, none is fatal.
//
// One instance per worker, single-threaded. The request path calls the noexcept members only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/cidr.hpp"
#include "conf/base/clock.hpp"
#include "plugins/sdk/chain.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/consumer.hpp"
#include "plugins/sdk/registry.hpp"
#include "worker/live/change.hpp"
#include "worker/live/compiled_route.hpp"
#include "worker/live/upstream.hpp"
#include "worker/router/router_kind.hpp"

namespace sluice::conf {
struct NodeConfig;
}

namespace sluice::live {

struct TablesOptions {
  router::RouterKind router = router::RouterKind::host_uri;
  // A route whose plugin is built but not enabled: from a standalone file it is refused, from a store the plugin is
  // left out. (A plugin that this build does not know refuses the route in both cases.)
  bool refuse_disabled_plugins = false;
  Timeouts timeouts;                         // of upstreams that say nothing
  KeepalivePool keepalive;
  bool ipv6 = true;
};
TablesOptions tables_options(const conf::NodeConfig& node);

struct Match {
  sdk::Ref<const CompiledRoute> route;       // null: no route
};

// What the control API shows of one object.
struct ObjectView {
  conf::Kind kind;
  std::string_view id;
  std::string_view json;
  std::uint64_t created, modified;
};

class Tables {
 public:
  Tables(const TablesOptions& options, const sdk::PluginHost& host, const sdk::EnabledPlugins& enabled);
  ~Tables();
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  // ---- changes
  // One batch, visible whole. Between begin_snapshot() and end_snapshot() it is only collected.
  std::vector<ObjectError> apply(std::span<const Change> batch);
  // What was applied in between is all there is: the rest goes. Visible in one step, at end_snapshot().
  void begin_snapshot();
  std::vector<ObjectError> end_snapshot();
  void drop_snapshot();                      // the peer went away in the middle

  // ---- names of nodes
  // Called when an upstream names a host that no set_addresses() has answered yet, and when the last user of a name is
  // gone (needed = false). Not called from the request path.
  std::function<void(std::string_view name, bool needed)> on_name;
  // An empty span: the name does not resolve now; its nodes are left out.
  void set_addresses(std::string_view name, std::span<const IpAddress> addresses);
  std::vector<std::string> names_in_use() const;

  // ---- request path
  // Reads method, host, path (and what conditions read); sets route_id … uri_params of the context. match_path: what is
  // compared with patterns when it differs from ctx.path (see router::NormalTarget), else empty.
  Match match(sdk::RequestContext& ctx, std::string_view match_path = {}) const noexcept;
  // Some `vars` read the request body: it has to be there before match().
  bool routing_needs_body() const noexcept;
  const sdk::Chain& global_chain() const noexcept { return global_rules()->chain.view(); }
  // All global rules as one chain. A request that goes on after a pause must hold the reference: rules may change.
  const sdk::Ref<const SharedChain>& global_rules() const noexcept;
  const sdk::ConsumerIndex& consumers() const noexcept;
  sdk::Ref<const Upstream> upstream(std::string_view id) const noexcept;

  // ---- inspection (control API, explain)
  void for_each(conf::Kind kind, const std::function<void(const ObjectView&)>& visit) const;
  std::size_t count(conf::Kind kind) const noexcept;
  // Upstreams in force: upstream objects and the inline ones of routes and services.
  void for_each_upstream(const std::function<void(const Upstream&)>& visit) const;
  // plugin_metadata in force, or nullptr. This is what PluginHost::metadata answers while plugins compile.
  const Json* metadata(std::string_view plugin) const noexcept;

 private:
  friend class Stager;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One batch on its way in, for callers that must not hold their loop: step() until it is true, then publish().
class Stager {
 public:
  enum class Mode : std::uint8_t { change, snapshot };
  Stager(Tables& tables, std::vector<Change> batch, Mode mode = Mode::change);
  ~Stager();
  Stager(const Stager&) = delete;
  Stager& operator=(const Stager&) = delete;

  // Compiles until the deadline (at least one object). True when everything is staged.
  bool step(TimePoint deadline);
  // REQUIRES: step() was true; no other batch was published since this one was begun.
  std::vector<ObjectError> publish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::live
