#include "master/privileges.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice::master {

Result<Account> choose_account(const std::string& user, const std::string& group) {
  Account account;
  if (geteuid() != 0) return account;
  const passwd* entry = nullptr;
  if (!user.empty()) {
    entry = getpwnam(user.c_str());
    if (entry == nullptr) return invalid("expected the name of an account, found '" + user + "'", "sluice.user");
  } else {
    entry = getpwnam("sluice");
    if (entry == nullptr) entry = getpwnam("nobody");
  }
  if (entry == nullptr) return account;
  account = {entry->pw_uid != 0, entry->pw_uid, entry->pw_gid, entry->pw_name};
  if (!group.empty()) {
    const ::group* g = getgrnam(group.c_str());
    if (g == nullptr) return invalid("expected the name of a group, found '" + group + "'", "sluice.group");
    account.gid = g->gr_gid;
  }
  return account;
}

Result<void> drop_privileges(const Account& account) {
  const auto failed = [](const char* what) {
    return Error{Errc::forbidden, {}, std::string(what) + ": " + std::strerror(errno), "process", false};
  };
  if (account.switch_to) {
    if (setgroups(0, nullptr) != 0) return failed("cannot drop the supplementary groups");
    if (setresgid(account.gid, account.gid, account.gid) != 0) return failed("cannot change the group");
    if (setresuid(account.uid, account.uid, account.uid) != 0) return failed("cannot change the user");
    // A changed uid makes the process undumpable, which hides it from the debugger and from its own /proc entries.
    prctl(PR_SET_DUMPABLE, 1);
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("cannot forbid new privileges");
  return {};
}

Result<void> readable_for(const Account& account, const std::string& path) {
  // Only a process that has become the account knows: groups, search rights on the way, access lists.
  const pid_t child = fork();
  if (child == 0) {
    if (!drop_privileges(account)) _exit(EACCES);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    _exit(fd >= 0 ? 0 : errno);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return Error{Errc::io, path, "cannot fork", "master", false};
  const int error = WIFEXITED(status) ? WEXITSTATUS(status) : EACCES;
  if (error == 0 || error == ENOENT) return {};
  return Error{Errc::forbidden, path,
               "expected a file that " + (account.switch_to ? "the account " + account.name : "this user") +
                   " can read: " + std::strerror(error),
               "master", false};
}

void raise_open_files(unsigned long wish, std::string& warning) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wish) return;
  rlimit raised = limit;
  raised.rlim_cur = wish;
  if (raised.rlim_max < wish) raised.rlim_max = wish;
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return;
  raised = limit;
  raised.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  warning = "worker_rlimit_nofile: expected to raise the limit of open files to " + std::to_string(wish) +
            ", the hard limit allows " + std::to_string(static_cast<unsigned long>(limit.rlim_max));
}

}  // namespace sluice::master
