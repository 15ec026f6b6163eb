#include "master/children.hpp"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::master;
using namespace std::chrono_literals;

TEST_CASE("one death brings a child back at once, quick ones wait longer and longer", "[children]") {
  Backoff backoff;
  TimePoint now = from_ns(1'000'000'000);
  CHECK(backoff.died(now - 60s, now) == 0ns);
  CHECK(backoff.died(now - 1s, now) == 0ns);
  CHECK(backoff.died(now - 1s, now) == 100ms);
  CHECK(backoff.died(now - 1s, now) == 200ms);
  CHECK(backoff.died(now - 1s, now) == 400ms);
  for (int i = 0; i < 40; ++i) CHECK(backoff.died(now - 1s, now) <= 10s);
  CHECK(backoff.died(now - 1s, now) == 10s);
  CHECK(backoff.died(now - 5s, now) == 0ns);
  CHECK(backoff.died(now - 1s, now) == 0ns);
}

TEST_CASE("exits are told in words", "[children]") {
  CHECK(describe_exit(0x0300) == "exit status 3");
  CHECK(describe_exit(9) == "signal 9 (Killed)");
}
