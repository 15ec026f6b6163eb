#include "master/children.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "conf/base/log.hpp"
#include "master/affinity.hpp"
#include "master/pid_file.hpp"
#include "master/title.hpp"

namespace sluice::master {

namespace {

void reset_signals() {
  for (int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCHLD, SIGALRM})
    signal(number, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  // Signals of a terminal reach the whole group; the master alone decides what its children do.
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
}

[[noreturn]] void become(const ChildPlan& plan, pid_t parent) {
  PidFile::leave_to_master();
  log::set_role(plan.role);
  set_title(plan.title);
  reset_signals();
  if (plan.cpu >= 0 && !pin_to(plan.cpu))
    log::warn("cannot pin " + plan.role + " to cpu " + std::to_string(plan.cpu) + ": " + std::strerror(errno));
  if (plan.before_drop) plan.before_drop();
  std::string error;
  if (plan.drop && !plan.drop(error)) {
    log::crit(plan.role + ": " + error);
    _exit(3);
  }
  // After the change of user, which clears it: finish gracefully when the master is gone.
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (getppid() != parent) _exit(0);
  _exit(plan.body());
}

}  // namespace

pid_t fork_child(const ChildPlan& plan) {
  const pid_t parent = getpid();
  // Signals stay blocked until the child has its own handling: none is lost, none reaches the master's.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) {
    // The child's event loop unblocks what it handles; a stop signal that came meanwhile is pending, not lost.
    sigset_t none;
    sigemptyset(&none);
    for (int number : {SIGTERM, SIGQUIT, SIGUSR1}) sigaddset(&none, number);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    become(plan, parent);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return pid;
}

nanoseconds Backoff::died(TimePoint started, TimePoint now) noexcept {
  if (now - started >= kSettled) {
    quick_ = 0;
    return nanoseconds(0);
  }
  ++quick_;
  if (quick_ == 1) return nanoseconds(0);
  const unsigned doublings = std::min(quick_ - 2, 20u);
  return std::min<nanoseconds>(kMost, kFirst * (1u << doublings));
}

std::string describe_exit(int status) {
  if (WIFEXITED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")" +
           (WCOREDUMP(status) ? ", core dumped" : "");
  return "wait status " + std::to_string(status);
}

}  // namespace sluice::master
