// RouteMatcher: the routes of one worker behind one of the three routers, edited route by route.
//
// radixtree_host_uri keeps a path tree per host pattern, found through a tree of reversed host names (exact name first,
// then the longest wildcard); routes without hosts have a path tree of their own that is asked last. The other two have
// one path tree, and the host is a condition. In each path tree: exact patterns, then prefixes from the longest down;
// inside a group the order of goes_before(). The first candidate whose conditions hold wins.
//
// find() allocates nothing and does not throw. Single-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "worker/router/candidate_list.hpp"
#include "worker/router/radix_tree.hpp"
#include "worker/router/route.hpp"
#include "worker/router/router_kind.hpp"

namespace sluice::sdk {
class RequestContext;
}

namespace sluice::router {

struct Hit {
  const Route* route = nullptr;
  const Candidate* candidate = nullptr;
  std::string_view host;         // the host pattern that matched; empty for a route without hosts
  Pattern::Values values;        // captures of the candidate's pattern
};

// The condition that a candidate failed, for explain.
enum class Failed : std::uint8_t { none, method, remote_addr, host, vars, filter_func, uri };

class RouteMatcher {
 public:
  explicit RouteMatcher(RouterKind kind) noexcept : kind_(kind) {}

  RouterKind kind() const noexcept { return kind_; }
  bool parameters() const noexcept { return kind_ == RouterKind::uri_with_parameter; }

  // The route must stay alive and unchanged until it is erased.
  void insert(const Route& route);
  // REQUIRES: the route is in, with the hosts it had when it was inserted.
  void erase(const Route& route) noexcept;

  bool find(sdk::RequestContext& ctx, std::string_view path, Hit& hit) const noexcept;
  // As find(), and tells what was passed over on the way.
  using PassedOver = std::function<void(const Candidate&, Failed)>;
  bool explain(sdk::RequestContext& ctx, std::string_view path, Hit& hit, const PassedOver& passed_over) const;

  struct Size {
    std::size_t nodes = 0;         // of all trees
    std::size_t bytes = 0;         // of the trees, without the routes
  };
  Size size() const;
  bool canonical_for_test() const;

 private:
  using PathTree = RadixTree<CandidateList>;
  struct HostSlot {
    std::unique_ptr<PathTree> paths;
    bool empty() const noexcept { return paths == nullptr; }
  };

  template <class Report>
  bool search(sdk::RequestContext& ctx, std::string_view path, Hit& hit, Report&& report) const noexcept;
  template <class Report>
  bool search_tree(const PathTree& tree, sdk::RequestContext& ctx, std::string_view path, std::uint16_t method,
                   Hit& hit, Report& report) const noexcept;
  Failed check(const Candidate& candidate, sdk::RequestContext& ctx, std::string_view path, std::uint16_t method,
               Hit& hit) const noexcept;
  static void insert_paths(PathTree& tree, const Route& route);
  static void erase_paths(PathTree& tree, const Route& route) noexcept;

  RouterKind kind_;
  PathTree paths_;                 // host_uri: of routes without hosts; else of all
  RadixTree<HostSlot> hosts_;      // keys are reversed names; wildcards in the prefix slots
};

}  // namespace sluice::router
