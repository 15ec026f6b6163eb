#include <catch2/catch.hpp>

#include <cmath>
#include <map>

#include "shm/catalog.hpp"
#include "test/worker/balancer/support.hpp"
#include "worker/balancer/ewma.hpp"

using namespace sluice;
using namespace sluice::balancer;
using namespace sluice::balancer::test;

namespace {
constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000'000'000, kStart = 1000 * kSecond;
TimePoint at(std::int64_t ns) { return from_ns(kStart + ns); }
Outcome answered(std::int64_t ns) { return {.elapsed_ns = ns}; }
Outcome failed(std::int64_t ns) { return {.failed = true, .elapsed_ns = ns}; }

std::vector<Peer> many(std::uint32_t n) {
  std::vector<Peer> all;
  for (std::uint32_t i = 0; i < n; ++i) all.push_back({"10.0.0." + std::to_string(i) + ":80", 1});
  return all;
}
}  // namespace

TEST_CASE("the mean follows the specified formula and is forgotten after a minute", "[balancer][ewma]") {
  Ewma e(many(2), nullptr, 1, at(0));
  CHECK(e.score_for_test(0, at(0)) < 0);
  e.settle(0, answered(100 * kMs), at(0));
  CHECK(e.score_for_test(0, at(0)) == Approx(0.1));
  CHECK(e.score_for_test(0, at(10 * kSecond)) == Approx(0.1 * std::exp(-1.0)));
  e.settle(0, answered(20 * kMs), at(5 * kSecond));
  const double w = std::exp(-0.5);
  CHECK(e.score_for_test(0, at(5 * kSecond)) == Approx(0.1 * w + 0.02 * (1 - w)));
  CHECK(e.score_for_test(0, at(66 * kSecond)) < 0);
  e.settle(0, answered(7 * kMs), at(100 * kSecond));
  CHECK(e.score_for_test(0, at(100 * kSecond)) == Approx(0.007));
}

TEST_CASE("of two nodes the faster is taken; a clock that stands still is fine", "[balancer][ewma]") {
  Ewma e(many(2), nullptr, 1, at(0));
  e.settle(0, answered(100 * kMs), at(0));
  e.settle(1, answered(10 * kMs), at(0));
  for (int i = 0; i < 50; ++i) CHECK(Request(2, at(0)).pick(e) == 1);
}

TEST_CASE("a new node starts at the mean of its peers", "[balancer][ewma]") {
  Ewma e(many(3), nullptr, 5, at(0));
  e.settle(0, answered(10 * kMs), at(0));
  e.settle(1, answered(30 * kMs), at(0));
  std::map<std::uint32_t, int> hits;
  for (int i = 0; i < 3000; ++i) ++hits[Request(3, at(20 * kMs)).pick(e)];
  // Better than node 1, worse than node 0: wins one pairing of three.
  CHECK(hits[2] > 850);
  CHECK(hits[2] < 1150);
  CHECK(hits[1] == 0);
}

TEST_CASE("a failed attempt counts as slow and is held", "[balancer][ewma]") {
  Ewma e(many(3), nullptr, 5, at(0));
  e.settle(1, answered(3 * kSecond), at(0));
  e.settle(2, answered(3 * kSecond), at(0));
  e.settle(0, failed(0), at(0));
  CHECK(e.score_for_test(0, at(0)) == Approx(30));
  CHECK(e.score_for_test(0, at(9 * kSecond)) == Approx(30));
  e.settle(0, answered(1), at(9 * kSecond));   // under way when the node failed
  CHECK(e.score_for_test(0, at(9 * kSecond)) == Approx(30));
  CHECK(e.score_for_test(0, at(20 * kSecond)) == Approx(30 * std::exp(-1.0)));
  e.settle(0, answered(5 * kMs), at(21 * kSecond));
  CHECK(e.score_for_test(0, at(21 * kSecond)) == Approx(0.005));
  e.settle(0, failed(0), at(22 * kSecond));
  CHECK(e.score_for_test(0, at(22 * kSecond)) >= 10);
}

TEST_CASE("an error answer never improves a score; a client that goes away says nothing", "[balancer][ewma]") {
  Ewma e(many(2), nullptr, 5, at(0));
  e.settle(0, answered(10 * kMs), at(0));
  e.settle(0, {.bad_answer = true, .elapsed_ns = 1000}, at(kSecond));
  CHECK(e.score_for_test(0, at(kSecond)) == Approx(0.01));
  e.settle(0, {.ignored = true, .elapsed_ns = 50 * kSecond}, at(kSecond));
  CHECK(e.score_for_test(0, at(kSecond)) == Approx(0.01));
}

TEST_CASE("200 nodes, one dead: less than 0.1 % of the attempts of a minute after its first failure", "[balancer][ewma]") {
  const std::uint32_t n = GENERATE(2u, 200u);
  const auto catalog = shm::Catalog::create_for_test();
  Ewma e(many(n), &catalog->ewma(), 11, at(0));
  std::int64_t now = 0, first_failure = -1;
  std::uint64_t attempts = 0, dead = 0;
  while (first_failure < 0 || now < first_failure + 60 * kSecond) {
    Request request(n, at(now));
    while (true) {
      const std::uint32_t node = request.pick(e);
      REQUIRE(node != kNoPeer);
      if (first_failure >= 0) ++attempts;
      if (node != 0) {
        e.settle(node, answered(1 * kMs), at(now));
        break;
      }
      e.settle(node, failed(10'000), at(now));
      if (first_failure < 0) first_failure = now;
      else ++dead;
    }
    now += 2 * kMs;
  }
  INFO(dead << " of " << attempts);
  CHECK(static_cast<double>(dead) < 0.001 * static_cast<double>(attempts));
}

TEST_CASE("a retry never goes to a node that was tried, ewma", "[balancer][ewma][tried]") {
  Ewma e(many(130), nullptr, 3, at(0));
  Request request(130, at(0));
  std::vector<int> hits(130);
  for (int i = 0; i < 130; ++i) {
    const std::uint32_t node = request.pick(e);
    REQUIRE(node != kNoPeer);
    ++hits[node];
  }
  CHECK(std::count(hits.begin(), hits.end(), 1) == 130);
  CHECK(request.pick(e) == kNoPeer);
}

TEST_CASE("scores are shared between workers by address", "[balancer][ewma]") {
  const auto catalog = shm::Catalog::create_for_test();
  Ewma here(many(2), &catalog->ewma(), 1, at(0)), there(many(2), &catalog->ewma(), 2, at(0));
  here.settle(0, answered(100 * kMs), at(0));
  CHECK(there.score_for_test(0, at(0)) == Approx(0.1));
}
