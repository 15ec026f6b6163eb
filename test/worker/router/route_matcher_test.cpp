#include <catch2/catch.hpp>

#include "conf/base/json.hpp"
#include "test/worker/router/edit_script.hpp"

using namespace sluice;
using namespace sluice::router;

namespace {
class Bench {
 public:
  explicit Bench(RouterKind kind = RouterKind::host_uri) : matcher(kind) {}
  Route& add(test::Plain plain) {
    plain.created = routes_.size() + 1;
    routes_.push_back(test::make_route(plain, matcher.parameters()));
    matcher.insert(*routes_.back());
    return *routes_.back();
  }
  std::string find(std::string_view host, std::string_view path, std::string_view method = "GET",
                   std::string_view authority = {}) {
    sdk::RequestContext ctx;
    ctx.method = method;
    ctx.host = host;
    ctx.authority = authority.empty() ? host : authority;
    ctx.path = path;
    ctx.client_address = *parse_ip("10.0.0.1");
    hit = {};
    matched_host.clear();
    if (!matcher.find(ctx, path, hit)) return "none";
    matched_host = hit.host;
    return hit.route->id;
  }
  RouteMatcher matcher;
  Hit hit;
  std::string matched_host;

 private:
  std::vector<sdk::Ref<Route>> routes_;
};
}  // namespace

TEST_CASE("exact, then longest prefix, then priority, then length", "[router]") {
  Bench b(GENERATE(RouterKind::host_uri, RouterKind::uri, RouterKind::uri_with_parameter));
  b.add({.id = "1", .uris = {"/blog/foo/*"}});
  b.add({.id = "2", .uris = {"/blog/foo/a/*"}});
  b.add({.id = "3", .uris = {"/blog/foo/bar"}});
  b.add({.id = "4", .priority = 99, .uris = {"/blog*"}});
  CHECK(b.find("h", "/blog/foo/bar") == "3");
  CHECK(b.find("h", "/blog/foo/a/b/c") == "2");
  CHECK(b.find("h", "/blog/foo/gloo") == "1");
  CHECK(b.find("h", "/blog/foo/") == "1");
  CHECK(b.find("h", "/blog/foo") == "4");
  CHECK(b.find("h", "/blo") == "none");
  CHECK(b.find("h", "") == "none");
}

TEST_CASE("priority decides among equals, then the order of creation", "[router]") {
  Bench b;
  b.add({.id = "low", .priority = 1, .uris = {"/a"}});
  b.add({.id = "high", .priority = 2, .methods = method_mask({"POST"}), .uris = {"/a"}});
  b.add({.id = "late", .priority = 1, .uris = {"/a"}});
  CHECK(b.find("h", "/a", "POST") == "high");
  CHECK(b.find("h", "/a", "GET") == "low");
  CHECK(b.find("h", "/a", "FOO") == "low");
}

TEST_CASE("hosts come first, longest wildcard before shorter, routes without host last", "[router]") {
  Bench b;
  b.add({.id = "1", .priority = 1, .uris = {"/v1/*"}, .hosts = {"*.t.test"}});
  b.add({.id = "2", .uris = {"/*"}, .hosts = {"a.t.test"}});
  b.add({.id = "3", .priority = 99, .uris = {"/v1/deep/*"}});
  CHECK(b.find("a.t.test", "/v1/deep/x") == "2");
  CHECK(b.matched_host == "a.t.test");
  CHECK(b.find("b.t.test", "/v1/x") == "1");
  CHECK(b.matched_host == "*.t.test");
  CHECK(b.find("c.other", "/v1/deep/x") == "3");
  CHECK(b.matched_host.empty());
  CHECK(b.find("c.other", "/v1/x") == "none");
}

TEST_CASE("wildcard hosts in any order of creation", "[router]") {
  std::vector<test::Plain> plains = {{.id = "bar", .uris = {"/h"}, .hosts = {"*.bar.test"}},
                                     {.id = "foo", .uris = {"/h"}, .hosts = {"*.FOO.bar.test"}},
                                     {.id = "none-host", .uris = {"/h"}}};
  std::sort(plains.begin(), plains.end(), [](auto& x, auto& y) { return x.id < y.id; });
  do {
    Bench b;
    for (const auto& p : plains) b.add(p);
    CHECK(b.find("q.foo.bar.test", "/h") == "foo");
    CHECK(b.find("q.bar.test", "/h") == "bar");
    CHECK(b.find("bar.test", "/h") == "none-host");
    CHECK(b.find("foo.bar.test", "/h") == "bar");
    CHECK(b.find("x.y.foo.bar.test", "/h") == "foo");
  } while (std::next_permutation(plains.begin(), plains.end(), [](auto& x, auto& y) { return x.id < y.id; }));
}

TEST_CASE("`*foo.com` covers the bare name, `*` everything, a port never matches", "[router]") {
  Bench b;
  b.add({.id = "suffix", .uris = {"/"}, .hosts = {"*foo.com"}});
  b.add({.id = "all", .uris = {"/"}, .hosts = {"*"}});
  b.add({.id = "port", .uris = {"/p"}, .hosts = {"foo.com:80"}});
  CHECK(b.find("foo.com", "/") == "suffix");
  CHECK(b.find("x.foo.com", "/") == "suffix");
  CHECK(b.find("x.org", "/") == "all");
  CHECK(b.find("", "/") == "all");
  CHECK(b.find("foo.com", "/p", "GET", "foo.com:80") == "none");
}

TEST_CASE("radixtree_uri: the path decides, the host is a condition", "[router]") {
  Bench b(RouterKind::uri);
  b.add({.id = "exact", .uris = {"/hello"}});
  b.add({.id = "bound", .uris = {"/*"}, .hosts = {"foo.com", "*.bar.com"}});
  b.add({.id = "port", .uris = {"/p"}, .hosts = {"foo.com:9080"}});
  CHECK(b.find("foo.com", "/hello") == "exact");
  CHECK(b.find("foo.com", "/x") == "bound");
  CHECK(b.find("a.bar.com", "/x") == "bound");
  CHECK(b.matched_host == "*.bar.com");
  CHECK(b.find("bar.com", "/x") == "none");
  CHECK(b.find("foo.com", "/p", "GET", "Foo.com:9080") == "port");
  CHECK(b.find("foo.com", "/p", "GET", "foo.com") == "bound");
}

TEST_CASE("conditions: client address, vars, filter_func", "[router]") {
  Bench b;
  Route& guarded = b.add({.id = "guarded", .uris = {"/a"}});
  REQUIRE(guarded.addresses.add("192.168.0.0/16"));
  guarded.addresses.seal();
  CHECK(b.find("h", "/a") == "none");
  Route& open = b.add({.id = "open", .uris = {"/a"}});
  CHECK(b.find("h", "/a") == "open");
  open.has_filter = true;
  CHECK(b.find("h", "/a") == "none");
}

TEST_CASE("explain names the condition that failed", "[router]") {
  Bench b(RouterKind::uri);
  b.add({.id = "m", .methods = method_mask({"PUT"}), .uris = {"/a"}});
  b.add({.id = "h", .uris = {"/a"}, .hosts = {"x.y"}});
  b.add({.id = "w", .uris = {"/a*", "/*"}});
  sdk::RequestContext ctx;
  ctx.method = "GET";
  ctx.host = ctx.authority = "h";
  std::string passed;
  Hit hit;
  REQUIRE(b.matcher.explain(ctx, "/a", hit, [&](const Candidate& c, Failed f) {
    passed += c.route->id + std::to_string(static_cast<int>(f)) + " ";
  }));
  CHECK(passed == "m1 h3 ");
  CHECK(hit.candidate->pattern.text() == "/a*");
}

TEST_CASE("removing everything leaves nothing behind", "[router]") {
  RouteMatcher matcher(RouterKind::host_uri);
  std::vector<sdk::Ref<Route>> routes;
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(i);
    routes.push_back(test::make_route({.id = n,
                                       .uris = {"/api/" + n, "/api/" + n + "/*", "/same"},
                                       .hosts = i % 2 ? std::vector<std::string>{"h" + n + ".test", "*.x.test"}
                                                      : std::vector<std::string>{}},
                                      false));
    matcher.insert(*routes.back());
  }
  for (const auto& r : routes) matcher.erase(*r);
  CHECK(matcher.size().nodes == 0);
}
