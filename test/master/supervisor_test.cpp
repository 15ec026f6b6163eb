// The supervisor in a process of its own, with children that only count, so that turns which take a broken generation
// can be played in milliseconds.
#include "master/supervisor.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <new>

#include "conf/base/log.hpp"
#include "conf/environment.hpp"

using namespace sluice;
using namespace sluice::master;
using namespace std::chrono_literals;

namespace {

struct Counts {
  std::atomic<int> serving{0};
  std::atomic<int> old_workers{0}, old_admins{0}, new_workers{0}, new_admins{0};
  std::atomic<int> quits{0}, settings_taken{0};
};

Counts& shared_counts() {
  void* const page = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  return *new (page) Counts;
}

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a);
  socklen_t length = sizeof a;
  getsockname(fd, reinterpret_cast<sockaddr*>(&a), &length);
  close(fd);
  return ntohs(a.sin_port);
}

bool accepts(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<std::uint16_t>(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool done = connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0;
  close(fd);
  return done;
}

template <class Condition>
bool until(Condition condition) {
  const TimePoint limit = monotonic_now() + 20s;
  while (!condition()) {
    if (monotonic_now() > limit) return false;
    usleep(1000);
  }
  return true;
}

// A child that serves until it is told to leave.
int serve(shm::WorkerStatus& status, Counts& counts) {
  sigset_t orders;
  sigemptyset(&orders);
  sigaddset(&orders, SIGTERM);
  sigaddset(&orders, SIGQUIT);
  sigprocmask(SIG_BLOCK, &orders, nullptr);
  status.ready.store(1);
  const timespec beat{0, 100'000'000};
  while (true) {
    status.heartbeat_ns.store(to_ns(monotonic_now()));
    const int number = sigtimedwait(&orders, nullptr, &beat);
    if (number == SIGQUIT) ++counts.quits;
    if (number > 0) return 0;
  }
}

struct Stage {
  Counts& counts = shared_counts();
  int port = free_port(), added_port = free_port();
  bool next_is_broken = true;
  pid_t master = 0;

  void begin() {
    master = fork();
    REQUIRE(master >= 0);
    if (master == 0) _exit(run());
  }
  ~Stage() {
    if (master > 0) {
      kill(master, SIGKILL);
      waitpid(master, nullptr, 0);
    }
    munmap(&counts, sizeof counts);
  }
  int ends() {
    int status = -1;
    kill(master, SIGTERM);
    waitpid(master, &status, 0);
    master = 0;
    return status;
  }

 private:
  Generation generation(const char* key) {
    Generation made;
    auto node = conf::parse_node_config("", "test", conf::process_environment());
    made.node = std::make_shared<const conf::NodeConfig>(std::move(*node));
    made.admin_key = key;
    made.number = 1;
    return made;
  }

  int run() {
    log::open("/dev/null", log::Level::emerg, "test");
    auto catalog = shm::Catalog::create_for_test();
    Listeners listeners;
    const auto wish = [](int p) { return ListenWish{ListenSocket::Role::proxy, "127.0.0.1", p}; };
    if (!listeners.replace({wish(port)}).has_value()) return 9;
    Supervisor::Hooks hooks;
    hooks.reload = [&]() -> Result<Generation> {
      if (auto opened = listeners.replace({wish(added_port)}); !opened) return opened.error();
      return generation("new");
    };
    hooks.worker_body = [&](const Generation& g, int, std::uint32_t slot) {
      const bool fresh = g.admin_key == "new";
      ++(fresh ? counts.new_workers : counts.old_workers);
      if (fresh && next_is_broken) return 1;
      return serve(catalog->workers().status(slot), counts);
    };
    hooks.admin_body = [&](const Generation& g, std::uint32_t slot) {
      ++(g.admin_key == "new" ? counts.new_admins : counts.old_admins);
      return serve(catalog->workers().status(slot), counts);
    };
    hooks.on_ready = [&] { ++counts.serving; };
    hooks.on_taken_over = [&](const Generation& g) { counts.settings_taken += g.admin_key == "new"; };
    Supervisor supervisor(generation("old"), {}, {}, listeners, *catalog, std::move(hooks),
                          next_is_broken ? nanoseconds(300ms) : nanoseconds(20s));
    return supervisor.run();
  }
};

}  // namespace

TEST_CASE("a generation that does not come to serve leaves nothing of itself", "[supervisor]") {
  Stage stage;
  stage.begin();
  REQUIRE(until([&] { return stage.counts.serving == 1; }));
  kill(stage.master, SIGHUP);
  // The admin process of the broken generation makes room for one with the settings in force.
  REQUIRE(until([&] { return stage.counts.new_admins == 1 && stage.counts.old_admins == 2; }));
  CHECK(stage.counts.new_workers >= 1);
  CHECK(stage.counts.old_workers == 1);
  CHECK(stage.counts.settings_taken == 0);
  CHECK(accepts(stage.port));
  CHECK(!accepts(stage.added_port));
  CHECK(stage.ends() == 0);
}

TEST_CASE("a generation that serves takes over, and what it does not name is closed", "[supervisor]") {
  Stage stage;
  stage.next_is_broken = false;
  stage.begin();
  REQUIRE(until([&] { return stage.counts.serving == 1; }));
  kill(stage.master, SIGHUP);
  REQUIRE(until([&] { return stage.counts.settings_taken == 1 && stage.counts.quits == 2; }));
  CHECK(accepts(stage.added_port));
  CHECK(until([&] { return !accepts(stage.port); }));
  CHECK(stage.counts.old_admins == 1);
  CHECK(stage.ends() == 0);
}

TEST_CASE("WINCH from another process drains the workers and keeps the admin process", "[supervisor]") {
  Stage stage;
  stage.begin();
  REQUIRE(until([&] { return stage.counts.serving == 1; }));
  kill(stage.master, SIGWINCH);
  REQUIRE(until([&] { return stage.counts.quits == 1; }));
  CHECK(stage.counts.old_workers == 1);
  CHECK(stage.counts.old_admins == 1);
  CHECK(stage.ends() == 0);
}
