#include "shm/catalog.hpp"

#include "shm_support.hpp"

using namespace sluice;
using namespace sluice::shm;
using namespace sluice::shm::test;

namespace {
struct Counter {
  std::uint64_t n = 0;
};
}  // namespace

TEST_CASE("the catalog has every dictionary by its name", "[shm][catalog]") {
  auto c = Catalog::create_for_test();
  std::vector<std::string> names;
  for (const NamedStats& s : c->all_stats()) {
    names.emplace_back(s.name);
    CHECK(s.stats.bytes >= 64 << 10);
    CHECK(s.stats.capacity > 100);
  }
  CHECK(names == std::vector<std::string>{"plugin-limit-req", "plugin-limit-count", "plugin-limit-conn",
                                          "balancer-ewma", "balancer-least-conn", "upstream-healthcheck",
                                          "internal-status", "plugin-api-breaker", "prometheus-metrics"});
  CHECK(names.size() == Catalog::defaults().size());
}

TEST_CASE("sizes are checked", "[shm][catalog]") {
  CHECK(Catalog::create({{"no-such", 1 << 20}}).error().message() == "no-such: no dictionary of this name");
  CHECK(Catalog::create({{"plugin-limit-req", 1000}}).error().code == Errc::invalid);
  auto sizes = Catalog::defaults();
  for (auto& s : sizes) s.bytes = 1 << 20;
  sizes[0].bytes = 2 << 20;
  auto c = Catalog::create(sizes, 4).value();
  CHECK(c->limit_req().stats().capacity > 15000);
  CHECK(c->limit_count().stats().capacity < 6000);
}

TEST_CASE("another process attaches by descriptor and finds the same tables", "[shm][catalog]") {
  auto c = Catalog::create_for_test();
  Dict<Counter> dict(c->limit_count());
  const OwnerId owner = c->owners().intern("limit-count|/apisix/routes/1");
  const Key key = dict.key(owner, "k");
  dict.update(key, owner, "k", at_ms(1), [](Counter& v, bool, RecordMeta&) noexcept { v.n = 5; });
  const SlotRef node = c->ewma().intern("node", at_ms(1));
  c->ewma().update(node, at_ms(1), [](EwmaScore& s, bool) noexcept { s = {0.25, 99}; });

  auto again = Catalog::attach(::dup(c->fd())).value();
  Counter v;
  CHECK(Dict<Counter>(again->limit_count()).peek(key, at_ms(1), v));
  CHECK(v.n == 5);
  EwmaScore score;
  CHECK(again->ewma().read(again->ewma().find("node"), score) == ReadState::ok);
  CHECK(score.score == 0.25);
  CHECK(score.last_ns == 99);

  c->region().header().layout_hash ^= 1;
  CHECK(Catalog::attach(::dup(c->fd())).error().message().find("layout") != std::string::npos);
}

TEST_CASE("settling a worker returns its leases, folds its metrics and frees the slot", "[shm][catalog][worker]") {
  auto c = Catalog::create_for_test();
  const auto slot = c->claim_worker(WorkerRole::worker, 1, 0).value();
  const Series series = c->metrics().intern(SeriesKind::counter, "requests");
  const OwnerId owner = c->owners().intern("limit-conn|/apisix/routes/1");
  const Key key = c->limit_conn().key(owner, "k");
  const SlotRef node = c->least_conn().intern("node", at_ms(1));
  in_child([&] {
    for (int i = 0; i < 3; ++i)
      c->limit_conn().try_acquire(key, owner, "k", slot, at_ms(1), [](std::uint64_t) noexcept { return true; });
    c->least_conn().acquire(node, slot, at_ms(1));
    c->metrics().page(slot).add(series, 11);
    WorkerStatus& s = c->workers().status(slot);
    WorkerStatus::bump(s.requests, 11);
    WorkerStatus::bump(s.active, 2);
    die_for_test();
  });
  CHECK(c->limit_conn().in_flight(key) == 3);
  CHECK(c->workers().totals().active == 2);
  CHECK(c->settle_worker(slot) == 4);
  CHECK(c->settle_worker(slot) == 0);
  CHECK(c->limit_conn().in_flight(key) == 0);
  CHECK(c->least_conn().in_flight(node) == 0);
  CHECK(c->metrics().sum(series) == 11);
  CHECK(c->workers().totals().requests == 11);
  CHECK(c->workers().totals().active == 0);
  CHECK(c->claim_worker(WorkerRole::worker, 2, 0).value() == slot);
}

TEST_CASE("worker slots are unique and run out with a clear error", "[shm][catalog][worker]") {
  auto c = Catalog::create_for_test();
  std::set<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < 8; ++i) CHECK(slots.insert(c->claim_worker(WorkerRole::worker, 1, i).value()).second);
  CHECK(c->claim_worker(WorkerRole::admin, 1, 0).error().code == Errc::unavailable);
  int seen = 0;
  c->workers().for_each([&](std::uint32_t slot, const WorkerStatus& s) {
    ++seen;
    CHECK(s.number == slot);
    CHECK(s.generation == 1);
  });
  CHECK(seen == 8);
  c->settle_worker(3);
  CHECK(c->claim_worker(WorkerRole::admin, 1, 0).value() == 3);
}

TEST_CASE("a dictionary changes its size in place for every process", "[shm][catalog][resize]") {
  auto c = Catalog::create_for_test();
  const auto before = c->limit_req().stats().capacity;
  REQUIRE(c->resize("plugin-limit-req", 256 << 10).has_value());
  CHECK(c->limit_req().stats().capacity > 3 * before);
  CHECK(c->resize("plugin-limit-req", 1 << 30).error().code == Errc::too_large);
  CHECK(c->resize("prometheus-metrics", 1 << 20).has_error());
  CHECK(c->resize("plugin-limit-req", 1).has_error());
}
