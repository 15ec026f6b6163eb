// The pid file, and the lock that keeps a second gateway out of a prefix.
//
// The lock is on the file (flock), not its text: it ends with the process, however that ends, so a stale file never
// stops a start. The text is for people and for `sluice -s`.
#pragma once

#include <sys/types.h>

#include <string>

#include "conf/base/result.hpp"

namespace sluice::master {

class PidFile {
 public:
  PidFile() = default;
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  ~PidFile();

  // Error conflict: another master runs here (its pid is in the reason).
  Result<void> acquire(const std::string& path);
  void remove() noexcept;   // at the end of the master, while the lock is still held
  // In a forked child: lets go of the inherited lock, so that it ends with the master and not with its last orphan.
  static void leave_to_master() noexcept;

 private:
  std::string path_;
  int fd_ = -1;
};

// The pid in the file, if a master holds its lock. Error not_found: none runs.
Result<pid_t> running_master(const std::string& path);

}  // namespace sluice::master
