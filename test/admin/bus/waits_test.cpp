// When a write may be answered, by the clock of the test.
#include <catch2/catch.hpp>

#include "admin/bus/ack_waits.hpp"

using namespace sluice;
using namespace sluice::admin;

namespace {
constexpr TimePoint at(int ms) { return TimePoint(milliseconds(ms)); }
const LiveWorker kA{0, 100}, kB{1, 101};

struct Answers {
  std::vector<std::pair<unsigned, unsigned>> list;
  OnApplied next() {
    return [this](Applied a) { list.emplace_back(a.applied, a.workers); };
  }
};
}  // namespace

TEST_CASE("a write waits for every live worker", "[bus][waits]") {
  AckWaits waits;
  Answers answers;
  waits.add(5, at(1000), answers.next());
  waits.settle({{kA, 4}, {kB, 5}}, at(0));
  CHECK(answers.list.empty());
  waits.settle({{kA, 5}, {kB, 5}}, at(1));
  CHECK(answers.list == std::vector<std::pair<unsigned, unsigned>>{{2, 2}});
  CHECK(waits.empty());
}

TEST_CASE("without workers a write is answered at once", "[bus][waits]") {
  AckWaits waits;
  Answers answers;
  waits.add(5, at(1000), answers.next());
  waits.settle({}, at(0));
  CHECK(answers.list == std::vector<std::pair<unsigned, unsigned>>{{0, 0}});
}

TEST_CASE("a late worker is not waited for until it is in time again", "[bus][waits]") {
  AckWaits waits;
  Answers answers;
  waits.add(5, at(1000), answers.next());
  waits.settle({{kA, 5}, {kB, 3}}, at(999));
  CHECK(answers.list.empty());
  waits.settle({{kA, 5}, {kB, 3}}, at(1000));
  REQUIRE(answers.list.size() == 1);
  CHECK(answers.list[0] == std::pair<unsigned, unsigned>{1, 2});
  CHECK(waits.lagging(kB));
  CHECK_FALSE(waits.lagging(kA));

  waits.add(6, at(2000), answers.next());
  waits.settle({{kA, 6}, {kB, 3}}, at(1001));  // at once: nobody waits for B
  REQUIRE(answers.list.size() == 2);
  CHECK(answers.list[1] == std::pair<unsigned, unsigned>{1, 2});

  waits.caught_up(kB);
  waits.add(7, at(3000), answers.next());
  waits.settle({{kA, 7}, {kB, 6}}, at(1002));
  CHECK(answers.list.size() == 2);
  waits.settle({{kA, 7}, {kB, 7}}, at(1003));
  CHECK(answers.list.size() == 3);
}

TEST_CASE("writes pipeline and end in order", "[bus][waits]") {
  AckWaits waits;
  Answers answers;
  for (std::uint64_t s = 1; s <= 10; ++s) waits.add(s, at(1000), answers.next());
  waits.settle({{kA, 3}, {kB, 10}}, at(0));
  CHECK(answers.list.size() == 3);
  waits.settle({{kA, 10}, {kB, 10}}, at(0));
  CHECK(answers.list.size() == 10);
}

TEST_CASE("a worker that dies is not waited for", "[bus][waits]") {
  AckWaits waits;
  Answers answers;
  waits.add(5, at(1000), answers.next());
  waits.settle({{kA, 5}, {kB, 0}}, at(0));
  CHECK(answers.list.empty());
  waits.settle({{kA, 5}}, at(1));
  CHECK(answers.list == std::vector<std::pair<unsigned, unsigned>>{{1, 1}});
  // The same slot with a new process is another worker.
  waits.add(6, at(1000), answers.next());
  waits.settle({{kA, 6}, {LiveWorker{1, 202}, 0}}, at(2));
  CHECK(answers.list.size() == 1);
}

TEST_CASE("an answer may bring the next write", "[bus][waits]") {
  AckWaits waits;
  int answered = 0;
  waits.add(1, at(1000), [&](Applied) {
    ++answered;
    waits.add(2, at(1000), [&](Applied) { ++answered; });
    waits.settle({{kA, 2}}, at(0));
  });
  waits.settle({{kA, 1}}, at(0));
  CHECK(answered == 2);
  CHECK(waits.empty());
}
