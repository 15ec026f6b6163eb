#include <catch2/catch.hpp>

#include <map>

#include "test/worker/balancer/support.hpp"
#include "worker/balancer/round_robin.hpp"

using namespace sluice::balancer;
using namespace sluice::balancer::test;

namespace {
std::vector<std::uint32_t> count(RoundRobin& rr, std::size_t n, int picks) {
  std::vector<std::uint32_t> hits(n);
  for (int i = 0; i < picks; ++i) ++hits[pick_once(rr, static_cast<std::uint32_t>(n))];
  return hits;
}
}  // namespace

TEST_CASE("round robin gives each node its share from any start", "[balancer][roundrobin]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 30)));
  RoundRobin even(peers({1, 1, 1}), seed);
  CHECK(count(even, 3, 12) == std::vector<std::uint32_t>{4, 4, 4});
  RoundRobin weighted(peers({1, 2, 3}), seed);
  CHECK(count(weighted, 3, 12) == std::vector<std::uint32_t>{2, 4, 6});
  RoundRobin scaled(peers({10, 20, 30}), seed);
  CHECK(count(scaled, 3, 6) == std::vector<std::uint32_t>{1, 2, 3});
}

TEST_CASE("round robin is interleaved, heavy nodes first in a cycle", "[balancer][roundrobin]") {
  RoundRobin rr(peers({2, 1}), 1);
  std::string order;
  for (int i = 0; i < 9; ++i) order += pick_once(rr, 2) == 0 ? 'a' : 'b';
  CHECK((order.find("aabaab") != std::string::npos));
}

TEST_CASE("weight 0 gets nothing unless all are 0", "[balancer][roundrobin]") {
  RoundRobin parked(peers({0, 1, 0, 1}), 7);
  CHECK(count(parked, 4, 10) == std::vector<std::uint32_t>{0, 5, 0, 5});
  RoundRobin all(peers({0, 0}), 7);
  CHECK(count(all, 2, 10) == std::vector<std::uint32_t>{5, 5});
  RoundRobin none(peers({}), 7);
  Request request(0);
  CHECK(request.pick(none) == kNoPeer);
}

TEST_CASE("a retry never goes to a node that was tried", "[balancer][roundrobin][tried]") {
  RoundRobin rr(peers({100, 1, 1, 0}), 3);
  for (int i = 0; i < 50; ++i) {
    Request request(4);
    std::map<std::uint32_t, int> hits;
    for (int k = 0; k < 3; ++k) ++hits[request.pick(rr)];
    CHECK(hits == std::map<std::uint32_t, int>{{0, 1}, {1, 1}, {2, 1}});
    CHECK(request.pick(rr) == kNoPeer);
  }
}

TEST_CASE("very unequal weights do not make a retry long", "[balancer][roundrobin][tried]") {
  RoundRobin rr(peers({1'000'000'000, 1}), 3);
  Request request(2);
  CHECK(request.pick(rr) == 0);
  CHECK(request.pick(rr) == 1);
  CHECK(request.pick(rr) == kNoPeer);
}
