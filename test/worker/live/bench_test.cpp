// Figures of the live tables: cost of a change, memory per plain route. Hidden: test_worker "[!benchmark]".
#include <catch2/catch.hpp>

#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "test/worker/live/support.hpp"

using namespace sluice;
using namespace sluice::live;
using namespace sluice::live::test;

TEST_CASE("live figures", "[!benchmark][live]") {
  using Clock = std::chrono::steady_clock;
  for (const int n : {10, 10'000, 100'000, 1'000'000}) {
    if (n == 1'000'000 && !std::getenv("SLUICE_ROUTER_MILLION")) continue;
    const auto before = mallinfo2();
    Bench b;
    b.put(Kind::upstream, "u", kNode1);
    std::vector<Change> batch;
    for (int i = 0; i < n; ++i) {
      const std::string id = std::to_string(i);
      batch.push_back(b.change(Kind::route, id,
                               R"({"id":")" + id + R"(","uri":"/api/service)" + id + R"(/*","upstream_id":"u"})"));
    }
    const auto start = Clock::now();
    REQUIRE(b.tables.apply(batch).empty());
    const double load = std::chrono::duration<double>(Clock::now() - start).count();
    batch = {};
    const auto after = mallinfo2();
    const int rounds = 2000;
    const auto change_start = Clock::now();
    for (int i = 0; i < rounds; ++i) {
      const std::string id = std::to_string((i * 7919) % n);
      b.put(Kind::route, id, R"({"id":")" + id + R"(","uri":"/api/service)" + id + R"(/*","upstream_id":"u","priority":)" + std::to_string(i) + "}");
    }
    const double change = std::chrono::duration<double>(Clock::now() - change_start).count() / rounds;
    std::printf("%8d routes: loaded in %.2f s, %.1f us per change, %zu B per route\n", n, load, change * 1e6,
                (after.uordblks - before.uordblks) / static_cast<std::size_t>(n));
  }
}
