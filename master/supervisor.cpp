#include "master/supervisor.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "conf/base/log.hpp"
#include "master/affinity.hpp"

namespace sluice::master {

namespace {

constexpr auto kHeartbeatLimit = seconds(10);    // a worker silent that long is stuck
constexpr auto kStopPatience = seconds(5);
constexpr auto kTick = milliseconds(500);
constexpr auto kStartingTick = milliseconds(5);

std::string name_of(bool worker, int index) { return worker ? "worker " + std::to_string(index) : "admin"; }

}  // namespace

Supervisor::Supervisor(Generation first, Paths paths, Account account, Listeners& listeners, shm::Catalog& catalog,
                       Hooks hooks, nanoseconds ready_limit)
    : current_(std::move(first)),
      paths_(std::move(paths)),
      account_(std::move(account)),
      listeners_(listeners),
      catalog_(catalog),
      hooks_(std::move(hooks)),
      ready_limit_(ready_limit) {}

int Supervisor::run() {
  sigset_t mask;
  sigemptyset(&mask);
  for (int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCHLD}) sigaddset(&mask, number);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  const int signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0) {
    log::crit(std::string("cannot watch signals: ") + std::strerror(errno));
    return 1;
  }
  add_generation(monotonic_now());
  turn_ = Turn::starting;
  turn_deadline_ = monotonic_now() + ready_limit_;

  for (;;) {
    TimePoint now = monotonic_now();
    const auto wait = std::chrono::ceil<milliseconds>(next_wait(now)).count();
    pollfd watched{signals, POLLIN, 0};
    poll(&watched, 1, static_cast<int>(std::clamp<long long>(wait, 0, 60000)));
    now = monotonic_now();
    signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
      // A terminal sends WINCH when its window changes its size: only one that a process sent is an order to drain.
      if (info.ssi_signo != SIGWINCH || info.ssi_code != SI_KERNEL) handle_signal(static_cast<int>(info.ssi_signo), now);
    reap(now);
    check_heartbeats(now);
    kill_overdue(now);
    advance_reload(now);
    start_due(now);
    if (mode_ != Mode::running && children_.empty()) break;
  }
  close(signals);
  log::notice("master: all children have ended");
  return 0;
}

void Supervisor::handle_signal(int number, TimePoint now) {
  switch (number) {
    case SIGTERM:
    case SIGINT:
      log::notice("master: stopping at once");
      mode_ = Mode::stopping;
      leave_all(SIGTERM, kStopPatience, now);
      break;
    case SIGQUIT:
      if (mode_ == Mode::stopping) break;
      log::notice("master: stopping gracefully");
      mode_ = Mode::quitting;
      leave_all(SIGQUIT, shutdown_patience(), now);
      break;
    case SIGHUP:
      if (mode_ != Mode::running) break;
      if (turn_ != Turn::none)
        reload_again_ = true;
      else
        begin_reload(now);
      break;
    case SIGUSR1:
      if (hooks_.reopen_logs) hooks_.reopen_logs(*current_.node);
      for (auto& child : children_)
        if (child->pid > 0) kill(child->pid, SIGUSR1);
      log::notice("master: logs reopened");
      break;
    case SIGWINCH:
      no_new_workers_ = true;
      for (auto& child : children_)
        if (child->kind == Kind::worker) leave(*child, SIGQUIT, shutdown_patience(), now);
      break;
    case SIGUSR2:
      log::error("master: replacing the binary is not available in this build; the running one serves on");
      break;
    default:
      break;
  }
}

void Supervisor::reap(TimePoint now) {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    auto found = std::find_if(children_.begin(), children_.end(), [&](const auto& c) { return c->pid == pid; });
    if (found == children_.end()) continue;   // adopted: as pid 1 of a container the master reaps strangers too
    child_ended(**found, status, now);
    if ((*found)->leaving) children_.erase(found);
  }
}

void Supervisor::child_ended(Child& child, int status, TimePoint now) {
  const std::string name = name_of(child.kind == Kind::worker, child.index);
  const std::uint64_t returned = catalog_.settle_worker(child.slot);
  if (!child.leaving || status != 0)
    log::write(child.leaving ? log::Level::notice : log::Level::alert,
               "master: " + name + " (pid " + std::to_string(child.pid) + ") ended with " + describe_exit(status) +
                   (returned ? "; " + std::to_string(returned) + " units in flight returned" : ""));
  child.pid = 0;
  child.kill_at.reset();
  if (mode_ != Mode::running || (no_new_workers_ && child.kind == Kind::worker)) child.leaving = true;
  if (child.leaving) return;
  const nanoseconds wait = child.backoff.died(child.started, now);
  child.start_at = now + wait;
  if (wait.count() > 0)
    log::alert(name + " ended " + std::to_string(child.backoff.quick_deaths()) +
               " times soon after its start; the next start is in " +
               std::to_string(std::chrono::duration_cast<milliseconds>(wait).count()) + " ms");
}

void Supervisor::start_due(TimePoint now) {
  if (mode_ != Mode::running) return;
  for (auto& child : children_) {
    if (child->pid != 0 || child->leaving || child->start_at > now) continue;
    // A new admin process waits for the old one: one holder of the store at a time.
    if (child->kind == Kind::admin && turn_ == Turn::admin_leaving) continue;
    start(*child, now);
  }
}

void Supervisor::start(Child& child, TimePoint now) {
  const bool worker = child.kind == Kind::worker;
  const Generation& generation = previous_ && child.generation == previous_->number ? *previous_ : current_;
  auto slot = catalog_.claim_worker(worker ? shm::WorkerRole::worker : shm::WorkerRole::admin,
                                    static_cast<std::uint32_t>(child.generation), static_cast<std::uint32_t>(child.index));
  if (!slot) {
    child.start_at = now + seconds(1);
    log::alert("no worker slot is free for " + name_of(worker, child.index) + ": " + slot.error().message());
    return;
  }
  child.slot = *slot;
  child.started = now;
  ChildPlan plan;
  plan.role = name_of(worker, child.index);
  plan.title = "sluice: " + plan.role;
  if (worker && child.index < static_cast<int>(generation.cpus.size()))
    plan.cpu = generation.cpus[static_cast<std::size_t>(child.index)];
  plan.before_drop = [this, worker] {
    // A child keeps open only what it serves: a listener it held would outlive the master's decision to close it.
    for (const ListenSocket& socket : listeners_.all())
      if ((socket.role == ListenSocket::Role::proxy) != worker) close(socket.fd);
    for (const ListenSocket& socket : listeners_.left_out()) close(socket.fd);
    if (worker && listeners_.bus()) close(listeners_.bus()->fd);
  };
  plan.drop = [this](std::string& error) {
    auto dropped = drop_privileges(account_);
    if (!dropped) error = dropped.error().message();
    return static_cast<bool>(dropped);
  };
  const int index = child.index;
  const std::uint32_t own_slot = child.slot;
  plan.body = [this, &generation, worker, index, own_slot] {
    return worker ? hooks_.worker_body(generation, index, own_slot) : hooks_.admin_body(generation, own_slot);
  };
  child.pid = fork_child(plan);
  if (child.pid < 0) {
    log::alert("cannot fork " + plan.role + ": " + std::strerror(errno));
    child.pid = 0;
    child.start_at = now + seconds(1);
    catalog_.settle_worker(child.slot);
    return;
  }
  shm::WorkerStatus& status = catalog_.workers().status(child.slot);
  status.pid.store(child.pid);
  status.heartbeat_ns.store(to_ns(now));
}

void Supervisor::check_heartbeats(TimePoint now) {
  for (auto& child : children_) {
    if (child->pid <= 0 || child->kill_at) continue;
    const std::int64_t beat = catalog_.workers().status(child->slot).heartbeat_ns.load();
    if (now - from_ns(beat) < kHeartbeatLimit) continue;
    log::alert("master: " + name_of(child->kind == Kind::worker, child->index) + " (pid " + std::to_string(child->pid) +
               ") has not answered for 10 s and is killed");
    kill(child->pid, SIGKILL);
    child->kill_at = now + seconds(3600);
  }
}

void Supervisor::kill_overdue(TimePoint now) {
  for (auto& child : children_) {
    if (child->pid <= 0 || !child->kill_at || *child->kill_at > now) continue;
    log::warn("master: " + name_of(child->kind == Kind::worker, child->index) + " (pid " + std::to_string(child->pid) +
              ") did not end in time and is killed");
    kill(child->pid, SIGKILL);
    child->kill_at = now + seconds(5);
  }
}

void Supervisor::leave(Child& child, int number, nanoseconds patience, TimePoint now) {
  const bool was_leaving = child.leaving;
  child.leaving = true;
  if (child.pid <= 0) return;
  if (!was_leaving || number == SIGTERM) {
    kill(child.pid, number);
    child.kill_at = now + patience;
  }
  // A draining worker must not take the CPU of the one that took over.
  if (child.kind == Kind::worker && number == SIGQUIT && !current_.cpus.empty()) {
    const auto cpus = allowed_cpus();
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : cpus)
      if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    sched_setaffinity(child.pid, sizeof set, &set);
  }
}

void Supervisor::leave_all(int number, nanoseconds patience, TimePoint now) {
  for (auto& child : children_) leave(*child, number, patience, now);
  std::erase_if(children_, [](const auto& c) { return c->pid == 0; });
}

bool Supervisor::all_ready(std::uint64_t generation) const {
  for (const auto& child : children_) {
    if (child->generation != generation || child->kind != Kind::worker || child->leaving) continue;
    if (child->pid <= 0 || catalog_.workers().status(child->slot).ready.load() == 0) return false;
  }
  return true;
}

nanoseconds Supervisor::shutdown_patience() const {
  return nanoseconds(current_.node->nginx.worker_shutdown_timeout) + seconds(5);
}

nanoseconds Supervisor::next_wait(TimePoint now) const {
  nanoseconds wait = turn_ == Turn::none ? nanoseconds(kTick) : nanoseconds(kStartingTick);
  for (const auto& child : children_) {
    if (child->pid == 0 && !child->leaving && mode_ == Mode::running)
      wait = std::min(wait, std::max(nanoseconds(0), child->start_at - now));
    if (child->kill_at) wait = std::min(wait, std::max(nanoseconds(0), *child->kill_at - now));
  }
  return wait;
}

}  // namespace sluice::master
