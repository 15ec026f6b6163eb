#include "conf/base/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace sluice {
namespace {

constexpr mode_t kMode = 0640;

int own_stream(std::string_view path) noexcept {
  if (path == "stderr" || path == "/dev/stderr") return STDERR_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  return -1;
}

int open_plain(const char* path) noexcept {
  // O_NONBLOCK: a FIFO without a reader is an error at once; a regular file does not know it.
  return ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, kMode);
}

int duplicate(int stream) noexcept { return ::fcntl(stream, F_DUPFD_CLOEXEC, 3); }

// Owner and target are read through one descriptor of the link itself: nobody can exchange it between the two.
int open_linked(const char* path) noexcept {
  const int link = ::open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (link < 0) return -1;
  struct stat info {};
  char target[4096];
  ssize_t n = -1;
  if (::fstat(link, &info) == 0 && S_ISLNK(info.st_mode) && (info.st_uid == 0 || info.st_uid == ::geteuid()))
    n = ::readlinkat(link, "", target, sizeof target - 1);
  ::close(link);
  if (n <= 0 || target[0] != '/') {
    errno = ELOOP;
    return -1;
  }
  target[n] = '\0';
  const int stream = own_stream(target);
  return stream >= 0 ? duplicate(stream) : open_plain(target);
}

}  // namespace

int open_log_file(const std::string& path) noexcept {
  if (const int stream = own_stream(path); stream >= 0) return duplicate(stream);
  const int fd = open_plain(path.c_str());
  return fd < 0 && errno == ELOOP ? open_linked(path.c_str()) : fd;
}

}  // namespace sluice
