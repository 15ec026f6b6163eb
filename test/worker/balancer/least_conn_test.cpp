#include <catch2/catch.hpp>

#include "shm/catalog.hpp"
#include "test/worker/balancer/support.hpp"
#include "worker/balancer/least_conn.hpp"

using namespace sluice;
using namespace sluice::balancer;
using namespace sluice::balancer::test;

namespace {
const TimePoint kNow = from_ns(1'000'000'000'000);
struct Worker {
  explicit Worker(shm::Catalog& catalog, int number, std::uint32_t n = 3)
      : slot(static_cast<int>(*catalog.claim_worker(shm::WorkerRole::worker, 1, static_cast<std::uint32_t>(number)))),
        catalog_(catalog), size(n) {
    rebuild(n);
  }
  void rebuild(std::uint32_t n) {
    size = n;
    const std::vector<std::uint32_t> ones(n, 1);
    std::vector<Peer> all;
    for (std::uint32_t i = 0; i < n; ++i) all.push_back({"127.0.0.1:" + std::to_string(1980 + i), 1});
    picker = std::make_unique<LeastConn>(all, "/apisix/upstreams/1|0", &catalog_.least_conn(), slot, 1, kNow);
  }
  std::uint32_t pick() { return pick_once(*picker, size); }
  void end(std::uint32_t node) { picker->settle(node, {}, kNow); }
  int slot;
  std::unique_ptr<LeastConn> picker;
  shm::Catalog& catalog_;
  std::uint32_t size;
};
}  // namespace

TEST_CASE("requests in flight are counted over all workers", "[balancer][least_conn]") {
  const auto catalog = shm::Catalog::create_for_test();
  Worker a(*catalog, 0), b(*catalog, 1);
  std::vector<int> hits(3);
  for (int i = 0; i < 6; ++i) ++hits[(i % 2 ? a : b).pick()];
  CHECK(hits == std::vector<int>{2, 2, 2});
  CHECK(a.picker->in_flight(0) == 2);
}

TEST_CASE("counts survive a change of the node list", "[balancer][least_conn]") {
  const auto catalog = shm::Catalog::create_for_test();
  Worker w(*catalog, 0, 2);
  for (int i = 0; i < 10; ++i) w.pick();
  const auto old = std::move(w.picker);
  w.rebuild(3);
  for (int i = 0; i < 5; ++i) CHECK(w.pick() == 2);
  for (int i = 0; i < 5; ++i) old->settle(0, {}, kNow);
  for (int i = 0; i < 5; ++i) CHECK(w.pick() == 0);
  CHECK(w.picker->in_flight(0) == 5);
}

TEST_CASE("what a dead worker held is given back", "[balancer][least_conn]") {
  const auto catalog = shm::Catalog::create_for_test();
  Worker dead(*catalog, 0), living(*catalog, 1);
  for (int i = 0; i < 6; ++i) dead.pick();
  living.pick();
  catalog->settle_worker(static_cast<std::uint32_t>(dead.slot));
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < 3; ++i) sum += living.picker->in_flight(i);
  CHECK(sum == 1);
}

TEST_CASE("weights divide, weight 0 comes last, tried nodes are skipped", "[balancer][least_conn][tried]") {
  LeastConn picker(peers({1, 3, 0}), "x", nullptr, -1, 1, kNow);
  std::vector<int> hits(3);
  for (int i = 0; i < 8; ++i) ++hits[pick_once(picker, 3)];
  CHECK(hits == std::vector<int>{2, 6, 0});
  Request request(3);
  std::vector<std::uint32_t> order = {request.pick(picker), request.pick(picker), request.pick(picker)};
  CHECK(order[2] == 2);
  CHECK(order[0] + order[1] == 1);
  CHECK(request.pick(picker) == kNoPeer);
}
