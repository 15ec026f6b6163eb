#include "worker/router/route_matcher.hpp"

#include <string>

#include "conf/base/text.hpp"
#include "plugins/sdk/request_context.hpp"

namespace sluice::router {
namespace {

// "*.foo.com" -> ("moc.oof.", not exact); "foo.com" -> ("moc.oof", exact).
struct HostKey {
  explicit HostKey(std::string_view pattern) {
    exact = pattern.empty() || pattern.front() != '*';
    if (!exact) pattern.remove_prefix(1);
    text.assign(pattern.rbegin(), pattern.rend());
  }
  std::string text;
  bool exact;
};

bool covers(std::string_view pattern, std::string_view host) noexcept {
  if (pattern.front() != '*') return pattern == host;
  return host.ends_with(pattern.substr(1));
}

// A host condition of radixtree_uri: equal, or ending with what follows the `*`. A pattern with a port is compared with
// the Host field as it was sent.
bool host_matches(std::string_view pattern, const sdk::RequestContext& ctx) noexcept {
  if (pattern.find(':') == std::string_view::npos) return covers(pattern, ctx.host);
  if (pattern.front() != '*') return text::iequal(pattern, ctx.authority);
  pattern.remove_prefix(1);
  return ctx.authority.size() >= pattern.size() &&
         text::iequal(pattern, ctx.authority.substr(ctx.authority.size() - pattern.size()));
}

// Of a route found through the host tree: the exact name, else the longest wildcard that covers the host.
std::string_view best_pattern(const HostList& hosts, std::string_view host) noexcept {
  std::string_view best;
  for (const std::string& pattern : hosts.patterns) {
    if (!covers(pattern, host)) continue;
    if (pattern.front() != '*') return pattern;
    if (pattern.size() > best.size()) best = pattern;
  }
  return best;
}

}  // namespace

void RouteMatcher::insert_paths(PathTree& tree, const Route& route) {
  for (const Candidate& candidate : route.candidates)
    tree.at(candidate.pattern.literal(), candidate.pattern.exact()).add(candidate);
}

void RouteMatcher::erase_paths(PathTree& tree, const Route& route) noexcept {
  for (const Candidate& candidate : route.candidates) {
    const std::string_view key = candidate.pattern.literal();
    CandidateList* list = tree.find_slot(key, candidate.pattern.exact());
    if (list == nullptr) continue;
    list->remove(candidate);
    if (list->empty()) tree.prune(key);
  }
}

void RouteMatcher::insert(const Route& route) {
  if (kind_ != RouterKind::host_uri || !route.hosts) {
    insert_paths(paths_, route);
    return;
  }
  for (const std::string& pattern : route.hosts->patterns) {
    const HostKey key(pattern);
    HostSlot& slot = hosts_.at(key.text, key.exact);
    if (slot.empty()) slot.paths = std::make_unique<PathTree>();
    insert_paths(*slot.paths, route);
  }
}

void RouteMatcher::erase(const Route& route) noexcept {
  if (kind_ != RouterKind::host_uri || !route.hosts) {
    erase_paths(paths_, route);
    return;
  }
  for (const std::string& pattern : route.hosts->patterns) {
    const HostKey key(pattern);
    HostSlot* slot = hosts_.find_slot(key.text, key.exact);
    if (slot == nullptr || slot->empty()) continue;
    erase_paths(*slot->paths, route);
    if (!slot->paths->empty()) continue;
    slot->paths.reset();
    hosts_.prune(key.text);
  }
}

Failed RouteMatcher::check(const Candidate& candidate, sdk::RequestContext& ctx, std::string_view path,
                           std::uint16_t method, Hit& hit) const noexcept {
  const Route& route = *candidate.route;
  if (route.methods != kAnyMethod && !(route.methods & method)) return Failed::method;
  if (!route.addresses.empty() && !route.addresses.contains(ctx.client_address)) return Failed::remote_addr;
  if (kind_ != RouterKind::host_uri && route.hosts) {
    hit.host = {};
    for (const std::string& pattern : route.hosts->patterns)
      if (host_matches(pattern, ctx)) {
        hit.host = pattern;
        break;
      }
    if (hit.host.empty()) return Failed::host;
  }
  if (route.has_vars && route.vars.evaluate(ctx) != sdk::Expression::Outcome::yes) return Failed::vars;
  if (route.has_filter) return Failed::filter_func;
  if (!candidate.pattern.match(path, hit.values)) return Failed::uri;
  return Failed::none;
}

template <class Report>
bool RouteMatcher::search_tree(const PathTree& tree, sdk::RequestContext& ctx, std::string_view path,
                               std::uint16_t method, Hit& hit, Report& report) const noexcept {
  return tree.find(path, [&](const CandidateList& list) noexcept {
    return list.any([&](const Candidate& candidate) noexcept {
      const Failed failed = check(candidate, ctx, path, method, hit);
      if (failed != Failed::none) {
        report(candidate, failed);
        return false;
      }
      hit.route = candidate.route;
      hit.candidate = &candidate;
      return true;
    });
  });
}

template <class Report>
bool RouteMatcher::search(sdk::RequestContext& ctx, std::string_view path, Hit& hit, Report&& report) const noexcept {
  const std::uint16_t method = method_bit(ctx.method);
  if (!hosts_.empty() && hosts_.find(Reversed(ctx.host), [&](const HostSlot& slot) noexcept {
        return search_tree(*slot.paths, ctx, path, method, hit, report);
      })) {
    hit.host = best_pattern(*hit.route->hosts, ctx.host);
    return true;
  }
  const bool found = search_tree(paths_, ctx, path, method, hit, report);
  if (found && !hit.route->hosts) hit.host = {};
  return found;
}

bool RouteMatcher::find(sdk::RequestContext& ctx, std::string_view path, Hit& hit) const noexcept {
  return search(ctx, path, hit, [](const Candidate&, Failed) noexcept {});
}

bool RouteMatcher::explain(sdk::RequestContext& ctx, std::string_view path, Hit& hit,
                           const PassedOver& passed_over) const {
  return search(ctx, path, hit, [&](const Candidate& candidate, Failed failed) { passed_over(candidate, failed); });
}

RouteMatcher::Size RouteMatcher::size() const {
  Size size{paths_.nodes() + hosts_.nodes(), paths_.bytes() + hosts_.bytes()};
  hosts_.for_each([&](std::string_view, bool, const HostSlot& slot) {
    size.nodes += slot.paths->nodes();
    size.bytes += slot.paths->bytes();
  });
  return size;
}

bool RouteMatcher::canonical_for_test() const {
  bool fine = paths_.canonical_for_test() && hosts_.canonical_for_test();
  hosts_.for_each([&](std::string_view, bool, const HostSlot& slot) {
    fine = fine && !slot.paths->empty() && slot.paths->canonical_for_test();
  });
  return fine;
}

}  // namespace sluice::router
