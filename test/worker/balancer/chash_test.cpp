#include <catch2/catch.hpp>

#include "test/worker/balancer/support.hpp"
#include "worker/balancer/chash.hpp"

using namespace sluice;
using namespace sluice::balancer;
using namespace sluice::balancer::test;

namespace {
std::uint32_t node_of(const Ring& ring, std::string_view key) { return ring.points()[ring.position(crc32(key))].node; }
}  // namespace

TEST_CASE("CRC-32 is zlib's", "[balancer][chash]") {
  CHECK(crc32("") == 0);
  CHECK(crc32("123456789") == 0xcbf43926u);
  CHECK(crc32("6789", crc32("12345")) == 0xcbf43926u);
}

TEST_CASE("ring vectors: three nodes of weight 1", "[balancer][chash]") {
  const Ring ring(peers({1, 1, 1}));
  REQUIRE(ring.points().size() == 480);
  CHECK(ring.points()[0].hash == 0x00373c92u);
  CHECK(ring.points()[0].node == 2);
  const std::pair<std::string_view, std::uint32_t> table[] = {
      {"127.0.0.1", 2}, {"a", 1}, {"b", 1}, {"c", 0}, {"session-1", 2}, {"session-2", 1},
      {"session-3", 2}, {"jack", 1}, {"", 2}, {"123456", 2}};
  for (const auto& [key, node] : table) {
    INFO(key);
    CHECK(node_of(ring, key) == node);
  }
  std::vector<std::uint32_t> of_first;
  const Ring one(peers({1}));
  for (const auto& p : one.points()) of_first.push_back(p.hash);
  for (const std::uint32_t h : {0xe71dcbbfu, 0xfef4f715u, 0x1a84f2e5u})
    CHECK(std::find(of_first.begin(), of_first.end(), h) != of_first.end());
}

TEST_CASE("ring vectors: two nodes, and weights", "[balancer][chash]") {
  const Ring two(peers({1, 1}));
  CHECK(node_of(two, "127.0.0.1") == 0);
  CHECK(node_of(two, "jack") == 1);
  CHECK(node_of(two, "tom") == 0);
  CHECK(node_of(two, "custom-one") == 0);
  CHECK(node_of(two, "cuscookie") == 1);
  CHECK(node_of(two, "chash_key_1") == 1);

  const std::vector<Peer> weighted = {{"127.0.0.1:16730", 3}, {"127.0.0.1:16731", 6}, {"127.0.0.1:16732", 10}};
  const Ring ring(weighted);
  CHECK(ring.points().size() == 3040);
  std::string nodes;
  for (int i = 1; i <= 10; ++i) nodes += std::to_string(node_of(ring, "session-" + std::to_string(i)));
  CHECK(nodes == "1212220022");
}

TEST_CASE("retries walk the ring to nodes not yet tried", "[balancer][chash][tried]") {
  Chash chash(peers({1, 1, 1}), HashKey(conf::HashOn::vars, "remote_addr"));
  Request request(3);
  request.ctx.client_text = "127.0.0.1";
  CHECK(request.pick(chash) == 2);
  CHECK(request.pick(chash) == 0);
  CHECK(request.pick(chash) == 1);
  CHECK(request.pick(chash) == kNoPeer);
}

TEST_CASE("the key: headers, cookies, combinations, and what stands in for a missing one", "[balancer][chash]") {
  sdk::RequestContext ctx;
  ctx.client_text = "10.1.1.1";
  ctx.request_headers.add("X-Session", "s1");
  ctx.request_headers.add("X-Empty", "");
  CHECK(HashKey(conf::HashOn::header, "X-Session").of(ctx) == "s1");
  CHECK(HashKey(conf::HashOn::header, "x-empty").of(ctx) == "");
  CHECK(HashKey(conf::HashOn::header, "nothing").of(ctx) == "10.1.1.1");
  CHECK(HashKey(conf::HashOn::consumer, "").of(ctx) == "10.1.1.1");
  CHECK(HashKey(conf::HashOn::vars_combinations, "$http_x_session-$http_none").of(ctx) == "s1-");
  CHECK(HashKey(conf::HashOn::vars_combinations, "$http_none").of(ctx) == "10.1.1.1");
}

TEST_CASE("no weight, no ring; huge weights are scaled down; equal content is shared", "[balancer][chash]") {
  CHECK(Ring(peers({0, 0})).points().empty());
  Chash none(peers({0, 0}), HashKey(conf::HashOn::vars, "remote_addr"));
  CHECK(pick_once(none, 2) == kNoPeer);

  const Ring huge(peers({1'000'000'007, 3}));
  CHECK(huge.points().size() <= Ring::kMaxPoints + 320);
  CHECK(huge.nodes() == 2);

  const auto before = Ring::alive_for_test();
  {
    const auto a = Ring::shared(peers({1, 2})), b = Ring::shared(peers({1, 2})), c = Ring::shared(peers({2, 1}));
    CHECK(a == b);
    CHECK(a != c);
    CHECK(Ring::alive_for_test() == before + 2);
  }
  CHECK(Ring::alive_for_test() == before);
}
