// The supervisor: the master's loop. It forks workers and the admin process, brings back what dies, kills what hangs,
// and obeys signals. It parses nothing from the network and never waits on a child.
//
// Generations. A reload makes a new one: the old admin process leaves first (only one may hold the store), the new admin
// and the new workers start, and when every new worker serves, the old ones are told to drain. If the new ones do not
// get that far in time, they are stopped and the old workers serve on.
//
// Everything happens in step(), which is driven by signals and by the earliest deadline; time is read once per step.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conf/base/clock.hpp"
#include "conf/node_config.hpp"
#include "master/children.hpp"
#include "master/listeners.hpp"
#include "master/paths.hpp"
#include "master/privileges.hpp"
#include "shm/catalog.hpp"

namespace sluice::master {

// One generation's settings: the node file as read, and what follows from it.
struct Generation {
  std::uint64_t number = 0;
  std::shared_ptr<const conf::NodeConfig> node;
  std::string admin_key;
  int workers = 1;
  std::vector<int> cpus;          // per worker; -1: not pinned
};

class Supervisor {
 public:
  struct Hooks {
    // Reads the node file again: the next generation, or what is wrong with it.
    std::function<Result<Generation>()> reload;
    std::function<int(const Generation&, int index, std::uint32_t slot)> worker_body;    // runs in the child
    std::function<int(const Generation&, std::uint32_t slot)> admin_body;
    std::function<void()> on_ready;   // once, when all workers of the first generation serve
    std::function<void(const Generation&)> on_taken_over;   // after each reload, when all of its workers serve
    std::function<void(const conf::NodeConfig&)> reopen_logs;
  };

  // ready_limit: how long all workers of a new generation may take together until they serve.
  Supervisor(Generation first, Paths paths, Account account, Listeners& listeners, shm::Catalog& catalog, Hooks hooks,
             nanoseconds ready_limit = seconds(60));
  int run();   // until the last child is gone; returns the exit code

 private:
  enum class Kind : std::uint8_t { worker, admin };
  struct Child {
    Kind kind;
    int index;
    std::uint64_t generation;
    pid_t pid = 0;                       // 0: waits to be started again
    std::uint32_t slot = 0;
    TimePoint started{};
    TimePoint start_at{};                // when pid == 0
    std::optional<TimePoint> kill_at;    // told to leave; killed when it has not by then
    bool leaving = false;                // not brought back
    bool hurried = false;                // leaving, and told not to wait for idle connections
    Backoff backoff;
  };
  enum class Mode : std::uint8_t { running, quitting, stopping };
  enum class Turn : std::uint8_t { none, admin_leaving, starting };   // the state of a reload

  void handle_signal(int number, TimePoint now);
  void reap(TimePoint now);
  void child_ended(Child& child, int status, TimePoint now);
  void start_due(TimePoint now);
  void start(Child& child, TimePoint now);
  void check_heartbeats(TimePoint now);
  void kill_overdue(TimePoint now);
  void advance_reload(TimePoint now);
  void begin_reload(TimePoint now);
  void add_generation(TimePoint now);
  void finish_reload(TimePoint now);
  void abandon_reload(TimePoint now);
  void leave(Child& child, int signal_number, nanoseconds patience, TimePoint now);
  void hurry_older();
  void leave_all(int signal_number, nanoseconds patience, TimePoint now);
  bool all_ready(std::uint64_t generation) const;
  nanoseconds next_wait(TimePoint now) const;
  nanoseconds shutdown_patience() const;

  Generation current_;
  std::optional<Generation> previous_;    // while a reload may still be abandoned
  Paths paths_;
  Account account_;
  Listeners& listeners_;
  shm::Catalog& catalog_;
  Hooks hooks_;
  const nanoseconds ready_limit_;
  std::vector<std::unique_ptr<Child>> children_;
  Mode mode_ = Mode::running;
  Turn turn_ = Turn::none;
  TimePoint turn_deadline_{};
  bool reload_again_ = false;
  bool announced_ = false;
  bool no_new_workers_ = false;           // WINCH: drained on purpose
};

}  // namespace sluice::master
