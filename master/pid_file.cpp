#include "master/pid_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace sluice::master {

namespace {

int held_fd = -1;  // of this process's master, for its children

pid_t read_pid(int fd) {
  char text[32] = {};
  const ssize_t n = pread(fd, text, sizeof text - 1, 0);
  return n > 0 ? static_cast<pid_t>(std::atol(text)) : 0;
}

}  // namespace

PidFile::~PidFile() {
  if (fd_ < 0) return;
  if (held_fd == fd_) held_fd = -1;
  close(fd_);
}

void PidFile::leave_to_master() noexcept {
  if (held_fd >= 0) close(held_fd);
  held_fd = -1;
}

Result<void> PidFile::acquire(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return Error{Errc::io, path, std::string("cannot open the pid file: ") + std::strerror(errno), "master"};
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const pid_t other = read_pid(fd);
    close(fd);
    return Error{Errc::conflict, path, "another sluice runs with this prefix (pid " + std::to_string(other) + ")",
                 "master"};
  }
  const std::string text = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    Error e{Errc::io, path, std::string("cannot write the pid file: ") + std::strerror(errno), "master"};
    close(fd);
    return e;
  }
  fd_ = held_fd = fd;
  path_ = path;
  return {};
}

void PidFile::remove() noexcept {
  if (fd_ >= 0) unlink(path_.c_str());
}

Result<pid_t> running_master(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error{Errc::not_found, path, std::string("no pid file: ") + std::strerror(errno), "master"};
  const bool free = flock(fd, LOCK_SH | LOCK_NB) == 0;
  const pid_t pid = read_pid(fd);
  close(fd);
  if (free || pid <= 0) return Error{Errc::not_found, path, "no sluice runs with this prefix", "master"};
  return pid;
}

}  // namespace sluice::master
