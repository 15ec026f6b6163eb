// Figures of the router at 10, 10,000 and 100,000 routes (1,000,000 with SLUICE_ROUTER_MILLION). Hidden: run by name,
// in a release build: test_worker "[!benchmark]".
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "test/worker/router/edit_script.hpp"

using namespace sluice;
using namespace sluice::router;

namespace {
using Clock = std::chrono::steady_clock;

template <class F>
double ns_each(int rounds, F&& body) {
  const auto start = Clock::now();
  for (int i = 0; i < rounds; ++i) body(i);
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / rounds;
}

struct Shape {
  const char* name;
  RouterKind kind;
  test::Plain (*make)(int i);
};

test::Plain one_host(int i) {
  const std::string n = std::to_string(i);
  return {.id = n, .created = static_cast<std::uint64_t>(i), .uris = {"/api/v" + std::to_string(i % 7) + "/service" + n + "/items/*"}};
}
test::Plain many_hosts(int i) {
  test::Plain p = one_host(i);
  p.hosts = {"tenant" + std::to_string(i / 4) + ".example.com"};
  return p;
}

void measure(const Shape& shape, int n) {
  RouteMatcher matcher(shape.kind);
  std::vector<sdk::Ref<Route>> routes;
  for (int i = 0; i < n; ++i) routes.push_back(test::make_route(shape.make(i), matcher.parameters()));
  const double build = ns_each(n, [&](int i) { matcher.insert(*routes[static_cast<std::size_t>(i)]); });

  std::mt19937 random(1);
  const int rounds = 100'000;
  std::vector<std::string> paths(static_cast<std::size_t>(rounds)), hosts(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const test::Plain p = shape.make(static_cast<int>(random() % static_cast<unsigned>(n)));
    paths[i] = p.uris[0].substr(0, p.uris[0].size() - 1) + "42";
    hosts[i] = p.hosts.empty() ? "h.test" : p.hosts[0];
  }
  sdk::RequestContext ctx;
  ctx.method = "GET";
  Hit hit;
  int found = 0;
  const auto look = [&](std::size_t i, std::string_view path) {
    ctx.host = hosts[i];
    found += matcher.find(ctx, path, hit);
  };
  const double hot = ns_each(rounds, [&](int) { look(0, paths[0]); });
  const double spread = ns_each(rounds, [&](int i) { look(static_cast<std::size_t>(i), paths[static_cast<std::size_t>(i)]); });
  CHECK(found == 2 * rounds);
  const double miss = ns_each(rounds, [&](int i) { look(static_cast<std::size_t>(i), "/nothing/here"); });
  const double update = ns_each(10'000, [&](int) {
    auto& route = routes[random() % static_cast<unsigned>(n)];
    matcher.erase(*route);
    matcher.insert(*route);
  });
  std::printf("%-12s %8d routes: lookup hot %5.0f ns, spread %5.0f ns, miss %5.0f ns; erase+insert %5.2f us; build %5.2f us/route; tree %4zu B/route\n",
              shape.name, n, hot, spread, miss, update / 1000, build / 1000, matcher.size().bytes / static_cast<std::size_t>(n));
}
}  // namespace

TEST_CASE("router figures", "[!benchmark][router]") {
  const Shape shapes[] = {{"one host", RouterKind::host_uri, one_host},
                          {"many hosts", RouterKind::host_uri, many_hosts},
                          {"uri router", RouterKind::uri, one_host}};
  for (const Shape& shape : shapes)
    for (const int n : {10, 10'000, 100'000, 1'000'000})
      if (n < 1'000'000 || std::getenv("SLUICE_ROUTER_MILLION")) measure(shape, n);
}
