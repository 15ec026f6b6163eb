// The lock of a prefix: one master at a time, and it ends with the master whatever its children do.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>

#include "master/pid_file.hpp"

using namespace sluice;
using namespace sluice::master;

TEST_CASE("a second master is refused while the first lives", "[master][pid]") {
  const std::string path = "/tmp/sluice-pid-" + std::to_string(getpid());
  PidFile first, second;
  REQUIRE(first.acquire(path).has_value());
  CHECK(*running_master(path) == getpid());
  const auto refused = second.acquire(path);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().reason.find(std::to_string(getpid())) != std::string::npos);
  first.remove();
}

TEST_CASE("a killed master leaves no lock behind, though its children live on", "[master][pid]") {
  const std::string path = "/tmp/sluice-pid-" + std::to_string(getpid());
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t master = fork();
  REQUIRE(master >= 0);
  if (master == 0) {
    PidFile file;
    if (!file.acquire(path)) _exit(1);
    const pid_t child = fork();
    if (child == 0) {
      PidFile::leave_to_master();
      const pid_t self = getpid();
      if (write(ready[1], &self, sizeof self) != sizeof self) _exit(1);
      while (true) pause();
    }
    while (true) pause();
  }
  pid_t orphan = 0;
  REQUIRE(read(ready[0], &orphan, sizeof orphan) == sizeof orphan);
  CHECK(*running_master(path) == master);
  REQUIRE(kill(master, SIGKILL) == 0);
  REQUIRE(waitpid(master, nullptr, 0) == master);
  CHECK_FALSE(running_master(path).has_value());
  PidFile next;
  CHECK(next.acquire(path).has_value());
  next.remove();
  kill(orphan, SIGKILL);
  close(ready[0]);
  close(ready[1]);
}
