#include "worker/live/upstream.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "conf/model/resources.hpp"
#include "shm/catalog.hpp"
#include "worker/balancer/chash.hpp"
#include "worker/balancer/ewma.hpp"
#include "worker/balancer/least_conn.hpp"
#include "worker/balancer/round_robin.hpp"

namespace sluice::live {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

nanoseconds from_seconds(double s) { return nanoseconds(static_cast<std::int64_t>(std::min(s, 1e9) * 1e9)); }

Timeouts from_conf(const conf::Timeout& t) { return {from_seconds(t.connect), from_seconds(t.send), from_seconds(t.read)}; }

bool is_name(const std::string& host) { return !host.starts_with(kUnixPrefix) && !parse_ip(host); }

std::string bracketed(const IpAddress& ip) { return ip.is_v4() ? ip.text() : "[" + ip.text() + "]"; }

std::uint32_t clamp_weight(std::int64_t weight) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(weight, 0, 1'000'000'000));
}

Node make_node(const conf::UpstreamNode& from, conf::Scheme scheme, const IpAddress* ip) {
  Node node;
  node.host = from.host;
  node.weight = clamp_weight(from.weight);
  node.priority = static_cast<int>(std::clamp<std::int64_t>(from.priority, INT32_MIN, INT32_MAX));
  if (ip == nullptr) {
    node.socket = SocketAddress::of_path(std::string_view(from.host).substr(kUnixPrefix.size()));
    node.address = node.ip = from.host;
  } else {
    node.port = from.port != 0 ? from.port : conf::default_port(scheme);
    node.socket = SocketAddress::of(*ip, node.port);
    node.ip = bracketed(*ip);
    node.address = node.ip + ":" + std::to_string(node.port);
  }
  node.pool_key = std::hash<std::string>{}(std::string(conf::name_of(scheme)) + "|" + node.address);
  return node;
}

}  // namespace

sdk::Ref<Upstream> Upstream::compile(conf::Upstream spec, std::string resource_key, const Environment& environment) {
  return sdk::Ref<Upstream>(new Upstream(std::move(spec), std::move(resource_key), environment));
}

Result<sdk::Ref<Upstream>> Upstream::compile(const Json& spec, std::string resource_key,
                                             const Environment& environment) {
  auto parsed = conf::parse_upstream(spec);
  if (!parsed) return parsed.error();
  return compile(std::move(*parsed), std::move(resource_key), environment);
}

Upstream::Upstream(conf::Upstream spec, std::string resource_key, const Environment& environment)
    : spec_(std::move(spec)), resource_key_(std::move(resource_key)), environment_(environment),
      retry_timeout_(from_seconds(spec_.retry_timeout)), timeouts_(environment.timeouts),
      keepalive_(environment.keepalive) {
  if (spec_.timeout) own_timeouts_ = timeouts_ = from_conf(*spec_.timeout);
  if (spec_.keepalive_pool)
    keepalive_ = {static_cast<std::uint32_t>(spec_.keepalive_pool->size), from_seconds(spec_.keepalive_pool->idle_timeout),
                  static_cast<std::uint32_t>(spec_.keepalive_pool->requests)};
  const bool weighted = std::any_of(spec_.nodes.begin(), spec_.nodes.end(), [](const auto& n) { return n.weight > 0; });
  for (const conf::UpstreamNode& node : spec_.nodes) {
    ports_implied_ |= node.port == 0 && !node.host.starts_with(kUnixPrefix);
    // A parked node gets no request as long as others have weight: its name need not resolve.
    if (!is_name(node.host) || (weighted && node.weight == 0)) continue;
    if (std::find(names_.begin(), names_.end(), node.host) == names_.end()) names_.push_back(node.host);
  }
  addresses_.resize(names_.size());
  chosen_.resize(names_.empty() ? 0 : spec_.nodes.size());
  rebuild();
}

Upstream::~Upstream() = default;

std::span<const Node> Upstream::node_list() const noexcept { return nodes_->nodes; }

void Upstream::set_addresses(std::string_view name, std::span<const IpAddress> given) {
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at == names_.end()) return;
  std::vector<IpAddress> usable;
  for (const IpAddress& ip : given)
    if (environment_.ipv6 || ip.is_v4()) usable.push_back(ip);
  std::sort(usable.begin(), usable.end());
  usable.erase(std::unique(usable.begin(), usable.end()), usable.end());
  auto& known = addresses_[static_cast<std::size_t>(at - names_.begin())];
  if (known == usable) return;
  known = std::move(usable);
  rebuild();
}

void Upstream::rebuild() {
  auto set = sdk::make_ref<NodeSet>();
  balancer::Random random(environment_.seed);
  std::map<std::int64_t, std::vector<std::size_t>, std::greater<>> by_priority;
  for (std::size_t i = 0; i < spec_.nodes.size(); ++i) by_priority[spec_.nodes[i].priority].push_back(i);
  // Round robin spreads over all addresses of a name; for the others an address is what state hangs on.
  const bool all_addresses = spec_.type == BalancerType::roundrobin;

  for (const auto& [priority, members] : by_priority) {
    NodeSet::Group group;
    group.priority = static_cast<int>(priority);
    for (const std::size_t i : members) {
      const conf::UpstreamNode& from = spec_.nodes[i];
      NodeSet::Entry entry{static_cast<std::uint32_t>(set->nodes.size()), 0};
      const auto add = [&](const IpAddress* ip) {
        set->nodes.push_back(make_node(from, spec_.scheme, ip));
        set->nodes.back().group = static_cast<std::uint32_t>(set->groups.size());
        set->nodes.back().entry = static_cast<std::uint32_t>(group.entries.size());
        ++entry.count;
      };
      if (!is_name(from.host)) {
        const auto ip = parse_ip(from.host);
        add(ip ? &*ip : nullptr);
      } else if (const auto at = std::find(names_.begin(), names_.end(), from.host); at != names_.end()) {
        const auto& answers = addresses_[static_cast<std::size_t>(at - names_.begin())];
        if (all_addresses) {
          for (const IpAddress& ip : answers) add(&ip);
        } else if (!answers.empty()) {
          if (!std::binary_search(answers.begin(), answers.end(), chosen_[i]))
            chosen_[i] = answers[random.below(static_cast<std::uint32_t>(answers.size()))];
          add(&chosen_[i]);
        }
      }
      if (entry.count > 0) group.entries.push_back(entry);
    }
    if (group.entries.empty()) continue;
    set->entries += static_cast<std::uint32_t>(group.entries.size());
    group.picker = make_picker(*set, group);
    set->groups.push_back(std::move(group));
  }
  nodes_ = set;
}

std::unique_ptr<balancer::Picker> Upstream::make_picker(const NodeSet& set, const NodeSet::Group& group) const {
  if (group.entries.size() == 1 && spec_.type != BalancerType::least_conn) return nullptr;
  std::vector<balancer::Peer> peers;
  for (const auto& entry : group.entries) peers.push_back({set.nodes[entry.first].address, set.nodes[entry.first].weight});
  shm::Catalog* const catalog = environment_.catalog;
  const std::uint64_t seed = environment_.seed;
  switch (spec_.type) {
    case BalancerType::roundrobin: return std::make_unique<balancer::RoundRobin>(peers, seed);
    case BalancerType::chash:
      return std::make_unique<balancer::Chash>(peers, balancer::HashKey(spec_.hash_on, spec_.key));
    case BalancerType::ewma:
      return std::make_unique<balancer::Ewma>(peers, catalog ? &catalog->ewma() : nullptr, seed, monotonic_now());
    case BalancerType::least_conn:
      return std::make_unique<balancer::LeastConn>(peers, resource_key_ + "|" + std::to_string(group.priority),
                                                   catalog ? &catalog->least_conn() : nullptr,
                                                   environment_.worker_slot, seed, monotonic_now());
    case BalancerType::unknown: break;
  }
  return nullptr;
}

PickResult Upstream::pick(PickState& state, sdk::RequestContext& ctx) const noexcept {
  if (!state.nodes) state.nodes = nodes_;
  const NodeSet& set = *state.nodes;
  if (set.nodes.empty()) return {nullptr, 503, spec_.has_nodes ? "the upstream has no node" : "no service discovery in this build"};
  if (ports_implied_ && ctx.upstream_scheme != scheme())
    return {nullptr, 503, "a node has no port and the scheme in effect is not the upstream's"};
  if (spec_.type == BalancerType::unknown && set.entries > 1) return {nullptr, 500, "unknown balancer type"};

  const bool alone = set.entries == 1;  // is always used, on retries too
  for (; state.group < set.groups.size(); ++state.group, state.group_entered = false) {
    const NodeSet::Group& group = set.groups[state.group];
    const bool first = !state.group_entered;
    if (first || alone) state.tried.prepare(static_cast<std::uint32_t>(group.entries.size()), ctx.arena);
    state.group_entered = true;
    balancer::Walk walk{ctx, state.tried, state.cursor, first};
    std::uint32_t at = balancer::kNoPeer;
    if (group.picker)
      at = group.picker->pick(walk);
    else if (!state.tried.test(0))
      at = 0;
    if (at == balancer::kNoPeer) continue;
    state.tried.mark(at);
    ++state.picks;
    const NodeSet::Entry& entry = group.entries[at];
    return {&set.nodes[entry.first + (entry.count > 1 ? set.random.below(entry.count) : 0)]};
  }
  return {nullptr, 502, "all upstream servers tried"};
}

void Upstream::settle(PickState& state, const Node& node, const Outcome& outcome, TimePoint now) const noexcept {
  if (!state.nodes || node.group >= state.nodes->groups.size()) return;
  if (const auto& picker = state.nodes->groups[node.group].picker) picker->settle(node.entry, outcome, now);
}

std::uint32_t Upstream::attempts(const PickState& state) const noexcept {
  if (spec_.retries) return static_cast<std::uint32_t>(std::clamp<std::int64_t>(*spec_.retries, 0, UINT32_MAX - 1)) + 1;
  const NodeSet& set = state.nodes ? *state.nodes : *nodes_;
  return std::max(1u, set.entries);
}

}  // namespace sluice::live
