// A program of edits and lookups read from octets, run against the router and against a model that is too simple to be
// wrong. Drives both the property test (random octets) and a fuzzer (chosen octets).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/sdk/request_context.hpp"
#include "worker/router/route_matcher.hpp"

namespace sluice::router::test {

struct Plain {
  std::string id;
  std::int64_t priority = 0;
  std::uint64_t created = 0;
  std::uint16_t methods = kAnyMethod;
  std::vector<std::string> uris, hosts;
};

inline sdk::Ref<Route> make_route(const Plain& p, bool parameters) {
  auto route = sdk::make_ref<Route>();
  route->id = p.id;
  route->priority = p.priority;
  route->created = p.created;
  route->methods = p.methods;
  if (!p.hosts.empty()) route->hosts = sdk::Ref<const HostList>(new HostList(p.hosts));
  route->set_patterns(p.uris, parameters);
  return route;
}

// The specification, literally: every pair of pattern and host, sorted, first that holds.
class Model {
 public:
  explicit Model(RouterKind kind) : kind_(kind) {}
  void put(const Plain& p) { routes_[p.id] = p; }
  void erase(const std::string& id) { routes_.erase(id); }
  const std::map<std::string, Plain>& routes() const { return routes_; }

  std::string find(const std::string& method, const std::string& host, const std::string& path) const {
    struct Way {
      long host_rank;
      int exact;
      std::size_t literal;
      std::int64_t priority;
      std::size_t length;
      std::uint64_t created;
      std::string id;
    };
    std::vector<Way> ways;
    for (const auto& [id, p] : routes_) {
      if (p.methods != kAnyMethod && !(p.methods & method_bit(method))) continue;
      std::vector<long> ranks;
      if (p.hosts.empty()) ranks.push_back(-1);
      for (const auto& h : p.hosts) {
        if (h[0] != '*') {
          if (h == host) ranks.push_back(1 << 20);
        } else if (host.ends_with(h.substr(1))) {
          ranks.push_back(static_cast<long>(h.size()));
        }
      }
      for (const long rank : ranks)
        for (const auto& uri : p.uris) {
          const std::size_t literal = literal_of(uri);
          const bool exact = literal == uri.size();
          if (exact ? uri != path : !path.starts_with(uri.substr(0, literal))) continue;
          if (!whole(uri, path)) continue;
          ways.push_back({kind_ == RouterKind::host_uri ? rank : 0, exact, literal, p.priority, uri.size(), p.created, id});
        }
    }
    if (ways.empty()) return "";
    return std::min_element(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
             if (a.host_rank != b.host_rank) return a.host_rank > b.host_rank;
             if (a.exact != b.exact) return a.exact > b.exact;
             if (a.literal != b.literal) return a.literal > b.literal;
             if (a.priority != b.priority) return a.priority > b.priority;
             if (a.length != b.length) return a.length > b.length;
             if (a.created != b.created) return a.created < b.created;
             return a.id < b.id;
           })->id;
  }

 private:
  std::size_t literal_of(const std::string& uri) const {
    std::size_t end = kind_ == RouterKind::uri_with_parameter ? uri.find(':') : std::string::npos;
    if (end == std::string::npos) end = uri.find('*');
    return std::min(end, uri.size());
  }
  static std::vector<std::string> split(const std::string& s) {
    std::vector<std::string> parts(1);
    for (char c : s)
      if (c == '/')
        parts.emplace_back();
      else
        parts.back() += c;
    return parts;
  }
  bool whole(const std::string& uri, const std::string& path) const {
    const auto segments = split(uri);
    bool counts = false;
    for (const auto& s : segments) counts |= !s.empty() && (s[0] == '*' || (s[0] == ':' && parameters()));
    return !counts || walk(segments, 0, path);
  }
  bool parameters() const { return kind_ == RouterKind::uri_with_parameter; }
  // Whether segments[i..] match the whole rest.
  bool walk(const std::vector<std::string>& segments, std::size_t i, std::string_view rest) const {
    const std::string& s = segments[i];
    const bool last = i + 1 == segments.size();
    const auto next = [&](std::size_t used) {
      return last ? used == rest.size()
                  : used < rest.size() && rest[used] == '/' && walk(segments, i + 1, rest.substr(used + 1));
    };
    if (!s.empty() && s[0] == '*') {
      for (std::size_t n = rest.size() + 1; n-- > 0;)
        if (next(n)) return true;
      return false;
    }
    const std::size_t part = std::min(rest.find('/'), rest.size());
    if (!s.empty() && s[0] == ':' && parameters()) return part > 0 && next(part);
    return literal(s, rest.substr(0, part)) && next(part);
  }
  // Literal segments are expressions; the scripts write one operator, a last `*`: any number of the octet before it.
  static bool literal(const std::string& s, std::string_view part) {
    if (s.size() < 2 || s.back() != '*') return part == s;
    const std::string base = s.substr(0, s.size() - 2);
    return part.starts_with(base) && part.substr(base.size()).find_first_not_of(s[s.size() - 2]) == std::string::npos;
  }

  RouterKind kind_;
  std::map<std::string, Plain> routes_;
};

class EditScript {
 public:
  EditScript(std::span<const std::uint8_t> octets) : octets_(octets) {}

  // Empty when router and model agreed all the way; else what went wrong.
  std::string run() {
    const RouterKind kind = static_cast<RouterKind>(take() % 3);
    RouteMatcher matcher(kind);
    Model model(kind);
    std::map<std::string, sdk::Ref<Route>> live;
    std::uint64_t clock = 0;
    while (at_ < octets_.size()) {
      const unsigned op = take();
      if (op % 4 < 2) {
        Plain p = plain();
        const auto old = live.find(p.id);
        p.created = old == live.end() ? ++clock % 16 : old->second->created;
        if (old != live.end()) matcher.erase(*old->second);
        live[p.id] = make_route(p, matcher.parameters());
        matcher.insert(*live[p.id]);
        model.put(p);
      } else if (op % 4 == 2) {
        const std::string id = name();
        const auto old = live.find(id);
        if (old == live.end()) continue;
        matcher.erase(*old->second);
        live.erase(old);
        model.erase(id);
      } else if (std::string wrong = look_up(matcher, model); !wrong.empty()) {
        return wrong;
      }
    }
    return compare_with_rebuilt(matcher, live);
  }

 private:
  unsigned take() { return at_ < octets_.size() ? octets_[at_++] : 0; }
  std::string name() { return std::to_string(take() % 24); }
  std::string path(bool pattern) {
    static constexpr std::string_view kParts[] = {"a", "b", "ab", "abc", "abcdefghijklmnop", "x", "", "b.c"};
    std::string s;
    const unsigned n = take() % 4;
    for (unsigned i = 0; i <= n; ++i) {
      s += '/';
      const unsigned pick = take();
      if (pattern && pick % 8 == 7)
        s += pick & 8 ? "*" : pick & 16 ? ":p" : "*n";
      else
        s += kParts[pick % 7];
    }
    if (pattern && take() % 4 == 0) s += '*';
    return s;
  }
  std::string host(bool pattern) {
    static constexpr std::string_view kHosts[] = {"a.com", "b.a.com", "c.b.a.com", "com", "ba.com", "x.org"};
    std::string h(kHosts[take() % 6]);
    if (!pattern) return h;
    const unsigned kind = take() % 6;
    return kind == 0 ? "*" : kind == 1 ? "*." + h : kind == 2 ? "*" + h : h;
  }
  template <class Make>
  std::vector<std::string> distinct(unsigned n, Make make) {
    std::vector<std::string> all;
    for (unsigned i = 0; i < n; ++i)
      if (std::string s = make(); std::find(all.begin(), all.end(), s) == all.end()) all.push_back(std::move(s));
    return all;
  }
  Plain plain() {
    Plain p;
    p.id = name();
    p.priority = take() % 3;
    if (take() % 4 == 0) p.methods = method_bit("GET");
    p.uris = distinct(1 + take() % 3, [&] { return path(true); });
    p.hosts = distinct(take() % 4, [&] { return host(true); });
    return p;
  }

  std::string look_up(const RouteMatcher& matcher, const Model& model) {
    sdk::RequestContext ctx;
    const std::string method = take() % 2 ? "GET" : "POST", h = host(false), p = path(false);
    ctx.method = method;
    ctx.host = ctx.authority = h;
    ctx.path = p;
    Hit hit;
    const bool found = matcher.find(ctx, p, hit);
    const std::string got = found ? hit.route->id : "", want = model.find(method, h, p);
    if (got == want) return {};
    return method + " " + h + " " + p + ": got '" + got + "', the model says '" + want + "'";
  }

  static std::string compare_with_rebuilt(const RouteMatcher& edited, const std::map<std::string, sdk::Ref<Route>>& live) {
    RouteMatcher fresh(edited.kind());
    for (const auto& [id, route] : live) fresh.insert(*route);
    if (!edited.canonical_for_test()) return "the edited tree is not in canonical form";
    if (edited.size().nodes != fresh.size().nodes || edited.size().bytes != fresh.size().bytes)
      return "the edited tree has " + std::to_string(edited.size().nodes) + " nodes, one built from scratch " +
             std::to_string(fresh.size().nodes);
    return {};
  }

  std::span<const std::uint8_t> octets_;
  std::size_t at_ = 0;
};

}  // namespace sluice::router::test
