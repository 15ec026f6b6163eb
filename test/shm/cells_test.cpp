#include "shm/cells.hpp"

#include <map>

#include "shm_support.hpp"

using namespace sluice;
using namespace sluice::shm;
using namespace sluice::shm::test;

namespace {

struct Fixture {
  explicit Fixture(std::uint64_t bytes = 64 << 10, std::uint32_t workers = 4)
      : shape{bytes, workers},
        region(Region::create("cells", 2 * kPage + Cells::footprint(shape), Region::Backing::sparse).value()),
        at(region.carve(Cells::footprint(shape)).value()),
        cells((Cells::format(region, at, shape).value(), region), at) {
    for (std::uint32_t w = 0; w < workers; ++w) cells.prepare_worker(region, w).value();
  }
  Cells::Shape shape;
  Region region;
  std::uint64_t at;
  Cells cells;
};

}  // namespace

TEST_CASE("series are interned by kind and text, and summed over workers", "[shm][cells]") {
  Fixture f;
  const Series requests = f.cells.intern(SeriesKind::counter, "http_requests_total");
  CHECK(f.cells.intern(SeriesKind::counter, "http_requests_total").id == requests.id);
  CHECK_FALSE(f.cells.intern(SeriesKind::gauge, "http_requests_total").id == requests.id);
  f.cells.page(0).add(requests, 2);
  f.cells.page(3).add(requests, 40);
  CHECK(f.cells.sum(requests) == 42);

  const Series seconds = f.cells.intern(SeriesKind::counter_real, "seconds");
  f.cells.page(0).add_real(seconds, 0.5);
  f.cells.page(1).add_real(seconds, 0.25);
  CHECK(f.cells.sum_real(seconds) == 0.75);

  const Series active = f.cells.intern(SeriesKind::gauge, "active");
  f.cells.page(1).set(active, 3);
  f.cells.page(2).set(active, 4);
  CHECK(f.cells.sum_real(active) == 7);
}

TEST_CASE("a histogram keeps its buckets and its sum", "[shm][cells]") {
  Fixture f;
  const Series h = f.cells.intern(SeriesKind::histogram, "latency", 4);
  CHECK(h.cells == 5);
  f.cells.page(0).observe(h, 0, 1.5);
  f.cells.page(1).observe(h, 2, 10);
  f.cells.page(1).observe(h, 3, 100);
  f.cells.page(1).observe(h, 77, 1000);  // clipped to +Inf
  bool seen = false;
  f.cells.for_each([&](const SeriesTotal& t) {
    if (t.text != "latency") return;
    seen = true;
    CHECK(t.kind == SeriesKind::histogram);
    CHECK(std::vector<std::uint64_t>(t.integers.begin(), t.integers.end()) == std::vector<std::uint64_t>{1, 0, 1, 2});
    CHECK(t.real == 1111.5);
  });
  CHECK(seen);
  CHECK(f.cells.sum(h) == 4);
}

TEST_CASE("folding keeps counters, drops gauges, and can be run again", "[shm][cells][fold]") {
  Fixture f;
  const Series c = f.cells.intern(SeriesKind::counter, "c"), r = f.cells.intern(SeriesKind::counter_real, "r"),
               g = f.cells.intern(SeriesKind::gauge, "g"), h = f.cells.intern(SeriesKind::histogram, "h", 3);
  for (std::uint32_t w : {0u, 1u}) {
    f.cells.page(w).add(c, 10 + w);
    f.cells.page(w).add_real(r, 0.5);
    f.cells.page(w).set(g, 5);
    f.cells.page(w).observe(h, 1, 2);
  }
  f.cells.fold_worker(0);
  f.cells.fold_worker(0);
  CHECK(f.cells.sum(c) == 21);
  CHECK(f.cells.sum_real(r) == 1.0);
  CHECK(f.cells.sum_real(g) == 5);
  CHECK(f.cells.sum(h) == 2);
  CHECK(f.cells.sum_real(h) == 4);

  // The next worker of the slot starts from zero.
  f.cells.page(0).add(c, 1);
  f.cells.fold_worker(0);
  CHECK(f.cells.sum(c) == 22);
}

TEST_CASE("a supervisor killed at any step of folding loses and doubles nothing", "[shm][cells][fold][rollback]") {
  Fixture f;
  const Series c = f.cells.intern(SeriesKind::counter, "c"), h = f.cells.intern(SeriesKind::histogram, "h", 2),
               g = f.cells.intern(SeriesKind::gauge, "g");
  std::uint64_t rounds = 0;
  const auto steps = at_every_step(
      [&] {
        ++rounds;
        f.cells.page(1).add(c, 7);
        f.cells.page(1).observe(h, 0, 0.5);
        f.cells.page(1).set(g, 1);
      },
      [&] { f.cells.fold_worker(1); },
      [&](std::int64_t step) {
        INFO("step " << step);
        CHECK(f.cells.sum(c) == 7 * rounds);
        f.cells.fold_worker(1);
        CHECK(f.cells.sum(c) == 7 * rounds);
        CHECK(f.cells.sum(h) == rounds);
        CHECK(f.cells.sum_real(h) == 0.5 * static_cast<double>(rounds));
        CHECK(f.cells.sum_real(g) == 0);
      });
  CHECK(steps > 20);
}

TEST_CASE("a full catalogue and texts that are too long go to `other`, counted", "[shm][cells]") {
  Fixture f(8 << 10);
  const auto max = f.cells.usage().series_max;
  std::map<std::uint32_t, int> ids;
  for (std::uint64_t i = 0; i < max + 10; ++i) {
    const Series s = f.cells.intern(SeriesKind::counter, "s" + std::to_string(i));
    f.cells.page(0).add(s);
    ++ids[s.id];
  }
  CHECK(ids[0] == 14);  // four series were there before: one `other` of each kind
  CHECK(f.cells.usage().overflows == 14);
  CHECK(f.cells.intern(SeriesKind::gauge, "late").id == 2);
  const Series h = f.cells.intern(SeriesKind::histogram, "late", 5);
  CHECK(h.id == 3);
  CHECK(h.cells == Cells::kMaxBuckets + 1);
  f.cells.page(0).observe(h, 2, 1.0);
  CHECK(f.cells.intern(SeriesKind::counter, "s0").id != 0);
  std::uint64_t total = 0;
  f.cells.for_each([&](const SeriesTotal& t) {
    if (t.kind == SeriesKind::counter) total += t.integers[0];
  });
  CHECK(total == max + 10);

  Fixture roomy;
  CHECK(roomy.cells.intern(SeriesKind::counter, std::string(Cells::kMaxText + 1, 'x')).id == 0);
  CHECK(roomy.cells.intern(SeriesKind::counter, std::string(Cells::kMaxText, 'x')).id != 0);
}

TEST_CASE("counts of several processes on their own pages are exact", "[shm][cells][fork]") {
  Fixture f;
  const Series c = f.cells.intern(SeriesKind::counter, "c");
  std::vector<pid_t> children;
  for (std::uint32_t w = 0; w < 3; ++w)
    children.push_back(start_child([&, w] {
      for (int i = 0; i < 50000; ++i) f.cells.page(w).add(c);
      const Series mine = f.cells.intern(SeriesKind::counter, "mine" + std::to_string(w));
      f.cells.page(w).add(mine, w + 1);
    }));
  for (pid_t pid : children) CHECK(wait_for(pid) == 0);
  CHECK(f.cells.sum(c) == 150000);
  for (std::uint32_t w = 0; w < 3; ++w) f.cells.fold_worker(w);
  CHECK(f.cells.sum(c) == 150000);
  CHECK(f.cells.sum(f.cells.intern(SeriesKind::counter, "mine2")) == 3);
}

TEST_CASE("a process killed at any step of interning leaves the series or none", "[shm][cells][rollback]") {
  Fixture f;
  int n = 0;
  at_every_step([] {}, [&] { f.cells.intern(SeriesKind::histogram, "h" + std::to_string(n), 3); },
                [&](std::int64_t) {
                  const Series s = f.cells.intern(SeriesKind::histogram, "h" + std::to_string(n), 3);
                  f.cells.page(0).observe(s, 1, 2);
                  CHECK(f.cells.sum(s) == 1);
                  ++n;
                });
  CHECK(f.cells.usage().series == static_cast<std::uint64_t>(n) + 5);
}

TEST_CASE("pages outside of the table are refused", "[shm][cells]") {
  Fixture f;
  CHECK_FALSE(f.cells.page(99));
  CHECK(f.cells.prepare_worker(f.region, 99).has_error());
  f.cells.fold_worker(99);
}
