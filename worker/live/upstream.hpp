// Upstream: a compiled upstream: where a request may go, and in which order to try.
//
// All but the set of nodes is immutable. The set is replaced as a whole when an address behind a name changes; a request
// holds the set it began with (in its PickState), so that a Node stays valid until the request ends.
//
//   PickState state;                               // in the exchange
//   auto [node, status] = upstream.pick(state, ctx);   // once per attempt
//   ...
//   upstream.settle(state, *node, outcome, now);   // exactly once per pick, on every way out
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/cidr.hpp"
#include "conf/base/clock.hpp"
#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "conf/model/upstream.hpp"
#include "plugins/sdk/ref.hpp"
#include "plugins/sdk/request_context.hpp"
#include "worker/balancer/picker.hpp"
#include "worker/live/node_set.hpp"

namespace sluice::shm {
class Catalog;
}

namespace sluice::live {

struct Timeouts {
  nanoseconds connect{seconds(60)};
  nanoseconds send{seconds(60)};
  nanoseconds read{seconds(60)};
  friend bool operator==(const Timeouts&, const Timeouts&) = default;
};

struct KeepalivePool {
  std::uint32_t size = 320;
  nanoseconds idle_timeout{seconds(60)};
  std::uint32_t requests = 1000;
  friend bool operator==(const KeepalivePool&, const KeepalivePool&) = default;
};

using conf::BalancerType;
using conf::PassHost;

using balancer::Outcome;

// One request's walk over the nodes. Lives in the exchange.
struct PickState {
  sdk::Ref<const NodeSet> nodes;   // what the request began with
  balancer::TriedSet tried;        // in the group in use
  std::uint32_t group = 0;
  std::uint32_t cursor = 0;
  std::uint32_t picks = 0;
  bool group_entered = false;

  void reset() noexcept {
    nodes.reset();
    tried.reset();
    group = cursor = picks = 0;
    group_entered = false;
  }
};

struct PickResult {
  const Node* node = nullptr;
  std::uint16_t status = 0;        // for the client, when there is no node: 500, 502, 503
  std::string_view reason;         // static text for the log
};

class Upstream : public sdk::RefCounted {
 public:
  // What compiling needs besides the object itself.
  struct Environment {
    shm::Catalog* catalog = nullptr;      // nullptr: EWMA and least_conn keep to this process (dry run, tests)
    int worker_slot = -1;
    Timeouts timeouts;                    // the node's defaults
    KeepalivePool keepalive;
    std::uint64_t seed = 0;               // 0: random; starts of round robin
    bool ipv6 = true;                     // dns_resolver: AAAA answers may be used
  };

  // resource_key: "/apisix/upstreams/1", or of the object that it stands in: "/apisix/routes/1".
  static sdk::Ref<Upstream> compile(conf::Upstream spec, std::string resource_key, const Environment& environment);
  // From an `upstream` object that a plugin carries. Error: what the schema says.
  static Result<sdk::Ref<Upstream>> compile(const Json& spec, std::string resource_key,
                                            const Environment& environment);
  ~Upstream() override;

  // The node for the next attempt, or the status that the client gets.
  PickResult pick(PickState& state, sdk::RequestContext& ctx) const noexcept;
  // REQUIRES: node came from pick() with this state.
  void settle(PickState& state, const Node& node, const Outcome& outcome, TimePoint now) const noexcept;
  // Attempts a request may make: 1 + retries (default: one per node).
  std::uint32_t attempts(const PickState& state) const noexcept;

  // The node set in force; never null.
  const sdk::Ref<const NodeSet>& nodes() const noexcept { return nodes_; }
  std::span<const Node> node_list() const noexcept;

  // Names that must be resolved for this upstream (configured hosts that are no addresses), each once.
  const std::vector<std::string>& names() const noexcept { return names_; }
  // An answer for one of names(): replaces the set of nodes when it makes a difference. Empty: does not resolve.
  void set_addresses(std::string_view name, std::span<const IpAddress> addresses);

  // ---- the configuration, for the pipeline
  const conf::Upstream& spec() const noexcept { return spec_; }        // as configured, defaults filled in
  const std::string& resource_key() const noexcept { return resource_key_; }
  std::string_view scheme() const noexcept { return conf::name_of(spec_.scheme); }
  PassHost pass_host() const noexcept { return spec_.pass_host; }
  const std::string& upstream_host() const noexcept { return spec_.upstream_host; }
  nanoseconds retry_timeout() const noexcept { return retry_timeout_; }   // 0: none
  const std::optional<Timeouts>& own_timeouts() const noexcept { return own_timeouts_; }
  const Timeouts& timeouts() const noexcept { return timeouts_; }         // own, else the node's
  const KeepalivePool& keepalive() const noexcept { return keepalive_; }
  bool has_tls() const noexcept { return !spec_.tls.client_cert.empty() || !spec_.tls.client_cert_id.empty(); }
  bool has_checks() const noexcept { return spec_.checks.has_value(); }

 private:
  Upstream(conf::Upstream spec, std::string resource_key, const Environment& environment);
  void rebuild();
  std::unique_ptr<balancer::Picker> make_picker(const NodeSet& set, const NodeSet::Group& group) const;

  conf::Upstream spec_;
  std::string resource_key_;
  Environment environment_;
  nanoseconds retry_timeout_{0};
  std::optional<Timeouts> own_timeouts_;
  Timeouts timeouts_;
  KeepalivePool keepalive_;
  bool ports_implied_ = false;                          // a node has no port: only with the scheme as configured
  std::vector<std::string> names_;
  std::vector<std::vector<IpAddress>> addresses_;       // beside names_
  std::vector<IpAddress> chosen_;                       // beside spec_.nodes: what a name stands for
  sdk::Ref<const NodeSet> nodes_;
};

}  // namespace sluice::live
