// LeaseDict and LeaseTable: totals of work in flight, over deaths.
#include "shm/lease_dict.hpp"
#include "shm/slot_table.hpp"
#include "shm_support.hpp"

using namespace sluice;
using namespace sluice::shm;
using namespace sluice::shm::test;

namespace {

struct Fixture : Table {
  explicit Fixture(std::uint32_t records = 8, std::uint32_t workers = 8)
      : Table(leased_shape_for(records, workers), false),
        dict(core),
        owner(owners.intern("limit-conn|/apisix/routes/1")) {}

  Acquired take(const std::string& text, std::uint32_t worker, std::uint64_t max = 1000) {
    return dict.try_acquire(
        dict.key(owner, text), owner, text, worker, at_ms(1), [max](std::uint64_t n) noexcept { return n <= max; },
        max);
  }
  std::uint64_t total(const std::string& text) const { return dict.in_flight(dict.key(owner, text)); }

  LeaseDict dict;
  OwnerId owner;
};

}  // namespace

TEST_CASE("leases count up and down over workers", "[shm][lease]") {
  Fixture f;
  const auto a = f.take("k", 0), b = f.take("k", 0), c = f.take("k", 3);
  CHECK(a.in_flight == 1);
  CHECK(c.in_flight == 3);
  CHECK(f.total("k") == 3);
  CHECK(audit(f.core, true) == "");
  f.dict.release(a.lease, 0);
  f.dict.release(c.lease, 3);
  CHECK(f.total("k") == 1);
  f.dict.release(b.lease, 0);
  CHECK(f.total("k") == 0);
  CHECK(f.dict.stats().pinned == 0);
  CHECK(audit(f.core, true) == "");
}

TEST_CASE("a refused acquisition counts nothing", "[shm][lease]") {
  Fixture f;
  const auto a = f.take("k", 0, 1);
  const auto b = f.take("k", 1, 1);
  CHECK(a.admitted);
  CHECK_FALSE(b.admitted);
  CHECK(b.in_flight == 2);
  CHECK(f.total("k") == 1);
  f.dict.release(a.lease, 0);
  CHECK(f.take("k", 1, 1).admitted);
  CHECK_FALSE(f.take("never", 0, 0).admitted);
  CHECK(f.dict.stats().entries == 1);
}

TEST_CASE("a release by a worker that holds nothing changes nothing", "[shm][lease]") {
  Fixture f;
  const auto a = f.take("k", 0);
  f.dict.release(a.lease, 5);
  CHECK(f.total("k") == 1);
  f.dict.release(a.lease, 0);
  f.dict.release(a.lease, 0);
  CHECK(f.total("k") == 0);
}

TEST_CASE("records with work in flight are not evicted; idle ones are", "[shm][lease][lru]") {
  Fixture f(3);
  const auto a = f.take("a", 0);
  const auto b = f.take("b", 0);
  f.dict.release(b.lease, 0);
  f.take("c", 0);
  f.take("d", 0);  // takes the place of b
  CHECK(f.total("a") == 1);
  CHECK(f.total("d") == 1);
  CHECK(f.dict.stats().evictions == 1);
  CHECK(audit(f.core, true) == "");

  // All pinned: admitted without counting.
  const auto e = f.take("e", 0);
  CHECK(e.admitted);
  CHECK(e.lease.slot == 0);
  CHECK(f.total("e") == 0);
  CHECK(f.dict.stats().refused == 1);
  f.dict.release(e.lease, 0);
  f.dict.release(a.lease, 0);
  CHECK(f.take("e", 0).lease.slot != 0);
  CHECK(audit(f.core, true) == "");
}

TEST_CASE("a worker outside of the ledger is admitted without counting", "[shm][lease]") {
  Fixture f(4, 2);
  const auto a = f.take("a", 7);
  CHECK(a.admitted);
  CHECK(a.lease.slot == 0);
  CHECK(f.dict.stats().refused == 1);
  CHECK(audit(f.core, true) == "");
}

TEST_CASE("a full ledger admits without counting", "[shm][lease]") {
  Fixture f(1, 4);  // one record, 1 + 4 leases: every worker fits, so fill the ledger through another shape
  for (std::uint32_t w = 0; w < 4; ++w) CHECK(f.take("a", w).lease.slot != 0);
  CHECK(f.total("a") == 4);
  CHECK(audit(f.core, true) == "");
}

TEST_CASE("replay returns exactly what a dead worker held", "[shm][lease][ledger]") {
  Fixture f(200, 8);
  for (int i = 0; i < 150; ++i) f.take("k" + std::to_string(i), 1);
  for (int i = 0; i < 150; i += 2) f.take("k" + std::to_string(i), 1);
  for (int i = 0; i < 150; i += 3) f.take("k" + std::to_string(i), 2);
  CHECK(f.dict.replay_dead(1) == 225);
  CHECK(f.dict.replay_dead(1) == 0);
  for (int i = 0; i < 150; ++i) CHECK(f.total("k" + std::to_string(i)) == (i % 3 == 0 ? 1 : 0));
  CHECK(audit(f.core, true) == "");
  CHECK(f.dict.replay_dead(2) == 50);
  CHECK(f.dict.stats().pinned == 0);
}

TEST_CASE("inspection shows text, total and limit", "[shm][lease]") {
  Fixture f;
  f.take("a", 0, 10);
  f.take("a", 1, 10);
  DictCore::Cursor cursor;
  int n = 0;
  f.dict.for_each_some(cursor, [&](const Key&, std::uint32_t owner, std::string_view text, std::uint64_t in_flight,
                                   std::uint64_t limit) {
    ++n;
    CHECK(f.owners.text(owner) == "limit-conn|/apisix/routes/1");
    CHECK(text == "a");
    CHECK(in_flight == 2);
    CHECK(limit == 10);
  });
  CHECK(n == 1);
}

TEST_CASE("a worker killed at any step of an acquisition leaves totals exact", "[shm][lease][ledger][rollback]") {
  Fixture f(4);
  f.take("k", 0);
  const auto steps = at_every_step([] {}, [&] { f.take("k", 1); },
                                   [&](std::int64_t step) {
                                     INFO("step " << step);
                                     CHECK(audit(f.core, true) == "");
                                     const std::uint64_t held = f.total("k") - 1;
                                     CHECK(held <= 1);
                                     CHECK(f.dict.replay_dead(1) == held);
                                     CHECK(f.total("k") == 1);
                                   });
  CHECK(steps > 10);
}

TEST_CASE("a worker killed at any step of a first acquisition or last release leaves totals exact",
          "[shm][lease][ledger][rollback]") {
  Fixture f(3);
  int n = 0;
  at_every_step(
      [&] {
        f.take("pinned", 0);
        ++n;
      },
      [&] {
        const auto got = f.take("k" + std::to_string(n), 1);
        f.dict.release(got.lease, 1);
      },
      [&](std::int64_t step) {
        INFO("step " << step);
        CHECK(audit(f.core, true) == "");
        f.dict.replay_dead(1);
        CHECK(f.total("k" + std::to_string(n)) == 0);
        CHECK(f.total("pinned") == static_cast<std::uint64_t>(n));
        CHECK(audit(f.core, true) == "");
      });
}

TEST_CASE("a supervisor killed at any step of a replay can run it again", "[shm][lease][ledger][rollback]") {
  Fixture f(8);
  at_every_step(
      [&] {
        f.dict.replay_dead(1);
        for (const char* text : {"a", "b", "a", "c"}) f.take(text, 1);
        if (f.total("a") == 2) f.take("a", 2);
      },
      [&] { f.dict.replay_dead(1); },
      [&](std::int64_t step) {
        INFO("step " << step);
        f.dict.replay_dead(1);
        CHECK(f.total("a") == 1);
        CHECK(f.total("b") == 0);
        CHECK(f.total("c") == 0);
        CHECK(audit(f.core, true) == "");
      });
}

TEST_CASE("totals are exact while workers are killed under load", "[shm][lease][fork][ledger][rollback]") {
#ifndef SLUICE_MUTATION_NO_SHARD_LOCK
  Fixture f(16, 8);
  auto told = Region::create("told", 2 * kPage).value();
  Word* progress = told.at<Word>(kPage);
  f.take("k0", 7);
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (std::uint32_t w = 0; w < 3; ++w)
      children.push_back(start_child([&, w] {
        for (unsigned i = w;; ++i) {
          const auto x = f.take("k" + std::to_string(i % 3), w), y = f.take("k" + std::to_string(i % 5), w);
          f.dict.release(x.lease, w);
          add_word(progress[w], 1);
          f.dict.release(y.lease, w);
        }
      }));
    const Word target = load_word(progress[0]) + 100 + 13 * static_cast<Word>(round);
    while (load_word(progress[0]) < target) ::sched_yield();
    for (pid_t pid : children) ::kill(pid, SIGKILL);
    for (pid_t pid : children) wait_for(pid);
    for (std::uint32_t w = 0; w < 3; ++w) f.dict.replay_dead(w);
    REQUIRE(audit(f.core, true) == "");
    for (int k = 0; k < 5; ++k) CHECK(f.total("k" + std::to_string(k)) == (k == 0 ? 1 : 0));
  }
#endif
}

TEST_CASE("requests in flight per node: lock-free total, exact over deaths", "[shm][lease][slot]") {
  Table t(leased_shape_for(8, 4), false);
  LeaseTable table(t.core);
  const SlotRef node = table.intern("/apisix/upstreams/1|10.0.0.1:80", at_ms(1));
  CHECK(table.in_flight(node) == 0);
  CHECK(table.acquire(node, 0, at_ms(1)));
  CHECK(table.acquire(node, 1, at_ms(1)));
  CHECK(table.acquire(node, 1, at_ms(1)));
  CHECK(table.in_flight(node) == 3);
  table.release(node, 0);
  CHECK(table.in_flight(node) == 2);
  CHECK_FALSE(table.forget(node));
  at_every_step([] {}, [&] { table.acquire(node, 2, at_ms(2)); },
                [&](std::int64_t) {
                  table.replay_dead(2);
                  CHECK(table.in_flight(node) == 2);
                  CHECK(audit(t.core, true) == "");
                });
  table.replay_dead(2);
  CHECK(table.replay_dead(1) == 2);
  CHECK(table.in_flight(node) == 0);
  CHECK(table.forget(node));
  CHECK_FALSE(table.acquire(node, 0, at_ms(3)));
}
