#include "shm/robust_mutex.hpp"

#include <poll.h>

#include "shm_support.hpp"

using namespace sluice::shm;
using namespace sluice::shm::test;

namespace {
struct Shared {
  RobustMutex mutex;
  Word counter, repaired;
};
}  // namespace

TEST_CASE("the next owner after a death repairs and is counted", "[shm][mutex]") {
  auto r = Region::create("mutex", 2 * kPage).value();
  auto& s = *r.at<Shared>(kPage);
  s.mutex.init();
  const auto repair = [&] { ++s.repaired; };
  {
    Guard g(s.mutex, repair);
    s.counter = 1;
  }
  CHECK(s.repaired == 0);
#ifndef SLUICE_MUTATION_NO_SHARD_LOCK
  REQUIRE(WIFSIGNALED(in_child([&] {
    s.mutex.lock(repair);
    die_for_test();
  })));
  { Guard g(s.mutex, repair); }
  CHECK(s.repaired == 1);
  CHECK(s.mutex.recoveries() == 1);
  { Guard g(s.mutex, repair); }
  CHECK(s.repaired == 1);

  SECTION("a death during the repair leaves it to the next one") {
    in_child([&] {
      s.mutex.lock(repair);
      die_for_test();
    });
    REQUIRE(WIFSIGNALED(in_child([&] { s.mutex.lock([] { die_for_test(); }); })));
    { Guard g(s.mutex, repair); }
    CHECK(s.repaired == 2);
    { Guard g(s.mutex, repair); }
    CHECK(s.repaired == 2);
  }
  SECTION("a waiter is woken by the death of the owner, and counted as having waited") {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t owner = start_child([&] {
      s.mutex.lock(repair);
      [[maybe_unused]] auto n = ::write(ready[1], "x", 1);
      for (;;) ::pause();
    });
    char c;
    REQUIRE(::read(ready[0], &c, 1) == 1);
    const pid_t waiter = start_child([&] {
      [[maybe_unused]] auto n = ::write(ready[1], "y", 1);
      Guard g(s.mutex, repair);
      s.counter = 99;
    });
    REQUIRE(::read(ready[0], &c, 1) == 1);
    ::kill(owner, SIGKILL);
    wait_for(owner);
    CHECK(wait_for(waiter) == 0);
    CHECK(s.counter == 99);
    ::close(ready[0]);
    ::close(ready[1]);
  }
#endif
}
