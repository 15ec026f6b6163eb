#include <catch2/catch.hpp>

#include <set>

#include "test/worker/live/support.hpp"

using namespace sluice;
using namespace sluice::live;
using namespace sluice::live::test;

namespace {
sdk::Ref<Upstream> make(std::string_view json) {
  auto doc = parse_json(json);
  auto made = Upstream::compile(*doc, "/apisix/upstreams/1", {});
  REQUIRE(made.has_value());
  return *made;
}
// The nodes a request that always fails is sent to, then the status.
std::string attempts(const Upstream& upstream, std::string_view scheme = "http") {
  sdk::RequestContext ctx;
  ctx.upstream_scheme = scheme;
  ctx.client_text = "127.0.0.1";
  PickState state;
  std::string all;
  for (std::uint32_t i = 0; i < 50; ++i) {
    if (i > 0 && i >= upstream.attempts(state)) return all + "out";
    const PickResult picked = upstream.pick(state, ctx);
    if (!picked.node) return all + std::to_string(picked.status);
    all += std::to_string(picked.node->port) + " ";
    upstream.settle(state, *picked.node, {.failed = true}, ctx.now);
  }
  return all;
}
}  // namespace

TEST_CASE("priority groups are tried in order, each node once", "[live][upstream]") {
  const std::string type = GENERATE("roundrobin", "ewma", "least_conn", "chash");
  const auto upstream = make(R"({"type":")" + type + R"(","key":"remote_addr","nodes":[
      {"host":"127.0.0.1","port":3,"weight":1,"priority":-1},
      {"host":"127.0.0.1","port":1,"weight":1,"priority":1},
      {"host":"127.0.0.1","port":2,"weight":1}]})");
  CHECK(attempts(*upstream) == "1 2 3 out");
}

TEST_CASE("attempts: one per node, or 1 + retries; no node is tried twice", "[live][upstream]") {
  CHECK(attempts(*make(R"({"nodes":{"127.0.0.1:1":1,"127.0.0.1:2":1},"retries":5})")).ends_with(" 502"));
  const std::string four = attempts(*make(R"({"nodes":{"127.0.0.1:1":1,"127.0.0.1:2":1,"127.0.0.1:3":1,"127.0.0.1:4":1}})"));
  CHECK(four.size() == 11);
  CHECK(four.ends_with("out"));
  CHECK(attempts(*make(R"({"nodes":{"127.0.0.1:1":1,"127.0.0.1:2":1},"retries":0})")).size() == 5);
}

TEST_CASE("a single node is always used", "[live][upstream]") {
  const std::string type = GENERATE("roundrobin", "chash", "ewma", "least_conn", "unheard-of");
  CHECK(attempts(*make(R"({"type":")" + type + R"(","key":"remote_addr","retries":2,"nodes":{"127.0.0.1:1":0}})")) == "1 1 1 out");
}

TEST_CASE("what the client gets when there is no node", "[live][upstream]") {
  CHECK(attempts(*make(R"({"nodes":{}})")) == "503");
  CHECK(attempts(*make(R"({"service_name":"a","discovery_type":"dns"})")) == "503");
  CHECK(attempts(*make(R"({"type":"odd","nodes":{"127.0.0.1:1":1,"127.0.0.1:2":1}})")) == "500");
  CHECK(attempts(*make(R"({"type":"chash","key":"remote_addr","nodes":{"127.0.0.1:1":0,"127.0.0.1:2":0}})")) == "502");
  CHECK(attempts(*make(R"({"nodes":{"127.0.0.1":1}})")) == "80 out");
  CHECK(attempts(*make(R"({"nodes":{"127.0.0.1":1}})"), "https") == "503");
  CHECK(attempts(*make(R"({"scheme":"https","nodes":{"127.0.0.1":1}})"), "https") == "443 out");
  CHECK(attempts(*make(R"({"nodes":{"127.0.0.1:9":1}})"), "https") == "9 out");
}

TEST_CASE("addresses as they are shown and connected to", "[live][upstream]") {
  const auto v6 = make(R"({"nodes":[{"host":"[::1]","port":81,"weight":1}]})");
  CHECK(v6->node_list()[0].address == "[::1]:81");
  CHECK(v6->node_list()[0].ip == "[::1]");
  CHECK(v6->node_list()[0].socket.family() == AF_INET6);
  const auto v4 = make(R"({"nodes":{"127.0.0.1:81":1}})");
  CHECK(ntohs(v4->node_list()[0].socket.v4.sin_port) == 81);
  CHECK(v4->node_list()[0].socket.length == sizeof(sockaddr_in));
  const SocketAddress local = SocketAddress::of_path("/run/x.sock");
  CHECK(local.family() == AF_UNIX);
  CHECK(std::string(local.local.sun_path) == "/run/x.sock");
  CHECK(SocketAddress::of_path(std::string(200, 'x')).length == 0);
}

TEST_CASE("names: asked for once, nodes appear with the answer", "[live][upstream][names]") {
  Bench b;
  b.put(Kind::upstream, "u", R"({"nodes":{"one.test:80":1,"127.0.0.1:1981":1}})");
  b.put(Kind::route, "1", R"({"uri":"/a","upstream_id":"u"})");
  b.put(Kind::route, "2", R"({"uri":"/b","upstream":{"nodes":{"one.test:81":1}}})");
  CHECK(b.names == std::map<std::string, int>{{"one.test", 1}});
  for (int i = 0; i < 4; ++i) CHECK(b.get("/a").node == "127.0.0.1:1981");
  CHECK(b.get("/b").node == "503");

  const std::vector<IpAddress> two = {*parse_ip("10.0.0.1"), *parse_ip("10.0.0.2")};
  b.tables.set_addresses("one.test", two);
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) seen.insert(b.get("/a").node);
  CHECK(seen == std::set<std::string>{"10.0.0.1:80", "10.0.0.2:80", "127.0.0.1:1981"});
  CHECK(b.get("/a").route->upstream()->nodes()->entries == 2);
  CHECK(b.get("/b").route->upstream()->node_list()[0].host == "one.test");

  b.put(Kind::route, "3", R"({"uri":"/c","upstream":{"nodes":{"one.test:82":1}}})");
  CHECK(b.get("/c").node.starts_with("10.0.0."));
  b.tables.set_addresses("one.test", {});
  CHECK(b.get("/b").node == "503");
  b.remove(Kind::route, "2");
  b.remove(Kind::route, "3");
  CHECK(b.names.size() == 1);
  b.remove(Kind::upstream, "u");
  CHECK(b.names.empty());
}

TEST_CASE("a request keeps the nodes it began with", "[live][upstream][names]") {
  const auto upstream = make(R"({"nodes":{"one.test:80":1}})");
  const std::vector<IpAddress> first = {*parse_ip("10.0.0.1")}, second = {*parse_ip("10.0.0.2")};
  upstream->set_addresses("one.test", first);
  sdk::RequestContext ctx;
  PickState state;
  const PickResult picked = upstream->pick(state, ctx);
  upstream->set_addresses("one.test", second);
  CHECK(picked.node->address == "10.0.0.1:80");
  upstream->settle(state, *picked.node, {}, ctx.now);
  state.reset();
  CHECK(upstream->pick(state, ctx).node->address == "10.0.0.2:80");
}

TEST_CASE("an address-bound balancer keeps to one address while it is among the answers", "[live][upstream][names]") {
  const auto upstream = make(R"({"type":"ewma","nodes":{"one.test:80":1,"127.0.0.1:1":1}})");
  const auto a = *parse_ip("10.0.0.1"), b = *parse_ip("10.0.0.2"), c = *parse_ip("10.0.0.3");
  upstream->set_addresses("one.test", std::vector{a});
  upstream->set_addresses("one.test", std::vector{a, b, c});
  CHECK(upstream->node_list().size() == 2);
  CHECK(upstream->node_list()[0].address == "10.0.0.1:80");
  upstream->set_addresses("one.test", std::vector{b});
  CHECK(upstream->node_list()[0].address == "10.0.0.2:80");
}

TEST_CASE("a parked node's name is not asked for", "[live][upstream][names]") {
  CHECK(make(R"({"nodes":{"127.0.0.1:1981":100,"gone.invalid:80":0}})")->names().empty());
  CHECK(attempts(*make(R"({"nodes":{"127.0.0.1:1981":100,"gone.invalid:80":0}})")) == "1981 out");
  CHECK(make(R"({"nodes":{"gone.invalid:80":0}})")->names().size() == 1);
}
