#include "worker/io/fiber.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "worker/io/reactor.hpp"
#include "worker/io/task.hpp"

using namespace sluice;
using namespace sluice::worker;

namespace {

struct Pair {
  Reactor& reactor;
  Io io;
  int other = -1;
  explicit Pair(Reactor& r, Fiber& fiber) : reactor(r) {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    REQUIRE(reactor.add(io, fds[0], kWrite));
    io.owner = &fiber;
    other = fds[1];
  }
  ~Pair() {
    reactor.close(io);
    if (other >= 0) ::close(other);
  }
};

Root wait_once(Fiber& fiber, Io& io, std::vector<Why>& seen) {
  const Why why = co_await fiber.readable(io);
  seen.push_back(why);
}

Root pause_once(Fiber& fiber, TimePoint until, std::vector<Why>& seen) {
  const Why why = co_await fiber.sleep_until(until);
  seen.push_back(why);
}

}  // namespace

TEST_CASE("an edge resumes who waits for it", "[io]") {
  Reactor reactor;
  Fiber fiber(reactor);
  Pair pair(reactor, fiber);
  std::vector<Why> seen;
  wait_once(fiber, pair.io, seen);
  reactor.turn(0);
  CHECK(seen.empty());
  REQUIRE(::write(pair.other, "x", 1) == 1);
  reactor.turn(100);
  REQUIRE(seen == std::vector{Why::io});
  char block[16];
  const IoResult r = pair.io.try_read(block, sizeof block);
  CHECK(r.n == 1);
  CHECK(r.drained);
  CHECK_FALSE(pair.io.readable());
}

TEST_CASE("data and end together are read to the end", "[io]") {
  Reactor reactor;
  Fiber fiber(reactor);
  Pair pair(reactor, fiber);
  REQUIRE(::write(pair.other, "x", 1) == 1);
  ::close(std::exchange(pair.other, -1));
  reactor.turn(100);
  char block[16];
  CHECK(pair.io.try_read(block, sizeof block).n == 1);
  CHECK(pair.io.readable());
  CHECK(pair.io.try_read(block, sizeof block).eof);
}

TEST_CASE("a deadline fires late by at most a tick, and a longer one replaces it", "[io]") {
  Reactor reactor;
  Fiber fiber(reactor);
  Pair pair(reactor, fiber);
  std::vector<Why> seen;
  const TimePoint start = reactor.now();
  fiber.set_deadline(start + milliseconds(150));
  fiber.set_deadline(start + milliseconds(950));
  wait_once(fiber, pair.io, seen);
  reactor.deadlines().sweep(start + milliseconds(900));
  CHECK(seen.empty());
  fiber.set_deadline(start + milliseconds(920));
  reactor.deadlines().sweep(start + milliseconds(1030));
  CHECK(seen == std::vector{Why::deadline});
}

TEST_CASE("deadlines beyond the wheel are kept", "[io]") {
  Reactor reactor;
  Fiber fiber(reactor);
  Pair pair(reactor, fiber);
  std::vector<Why> seen;
  const TimePoint start = reactor.now();
  fiber.set_deadline(start + seconds(300));
  wait_once(fiber, pair.io, seen);
  for (int s = 1; s < 300; ++s) reactor.deadlines().sweep(start + seconds(s));
  CHECK(seen.empty());
  reactor.deadlines().sweep(start + milliseconds(300200));
  CHECK(seen == std::vector{Why::deadline});
}

TEST_CASE("pauses end in order", "[io]") {
  Reactor reactor;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Why> seen[50];
  const TimePoint start = reactor.now();
  for (int i = 0; i < 50; ++i) {
    fibers.push_back(std::make_unique<Fiber>(reactor));
    pause_once(*fibers.back(), start + seconds(1000 + (i * 37) % 50), seen[i]);
  }
  reactor.timers().remove(*fibers[3]);
  for (int s = 0; s < 50; ++s) {
    reactor.timers().fire_due(start + seconds(1000 + s));
    for (int i = 0; i < 50; ++i) CHECK(seen[i].size() == (i != 3 && (i * 37) % 50 <= s ? 1u : 0u));
  }
  fibers[3]->cancel();
  CHECK(seen[3] == std::vector{Why::cancelled});
}

TEST_CASE("a pause of a millisecond is kept to the millisecond", "[io]") {
  Reactor reactor;
  Fiber fiber(reactor);
  std::vector<Why> seen;
  reactor.refresh_clock();
  const TimePoint until = reactor.now() + milliseconds(5);
  pause_once(fiber, until, seen);
  while (seen.empty()) reactor.turn(1000);
  CHECK(monotonic_now() >= until);
}

TEST_CASE("cancel ends the wait in hand and every later one", "[io]") {
  Reactor reactor;
  Fiber fiber(reactor);
  Pair pair(reactor, fiber);
  std::vector<Why> seen;
  wait_once(fiber, pair.io, seen);
  fiber.cancel();
  wait_once(fiber, pair.io, seen);
  CHECK(seen == std::vector{Why::cancelled, Why::cancelled});
}
