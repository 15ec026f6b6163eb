#include "master/admin_key.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace sluice::master {

namespace {

constexpr std::size_t kKeyLength = 32;

Result<std::string> make_key() {
  // Rejection keeps the 52 letters equally likely.
  static constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string key;
  while (key.size() < kKeyLength) {
    unsigned char octet = 0;
    if (getrandom(&octet, 1, 0) != 1) return Error{Errc::io, {}, "no random octets for the admin key", "master"};
    if (octet < 52 * 4) key += kLetters[octet % 52];
  }
  return key;
}

// The first line of the file; empty: there is none. The folder belongs to the workers' account: a link is not followed.
Result<std::string> kept_key(const std::string& path) {
  const auto failed = [&](const char* why) {
    return Error{Errc::io, path, std::string("cannot read the admin key: ") + why, "master"};
  };
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return std::string();
    return failed(errno == ELOOP ? "expected a file, found a symbolic link" : std::strerror(errno));
  }
  char line[1024];
  const ssize_t n = read(fd, line, sizeof line);
  const int error = errno;
  close(fd);
  if (n < 0) return failed(std::strerror(error));
  const std::string_view text(line, static_cast<std::size_t>(n));
  return std::string(text.substr(0, text.find_first_of("\r\n")));
}

}  // namespace

Result<AdminKey> effective_admin_key(const char* environment, const std::string& configured,
                                     const std::string& data_dir) {
  if (environment != nullptr && *environment != '\0') return AdminKey{environment, false, {}};
  if (!configured.empty()) return AdminKey{configured, false, {}};
  const std::string path = data_dir + "/admin.key";
  Result<std::string> kept = kept_key(path);
  if (!kept) return kept.error();
  if (!kept->empty()) return AdminKey{*kept, false, path};
  Result<std::string> key = make_key();
  if (!key) return key.error();
  // Written aside and renamed: the file is whole or it is not there.
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const std::string line = *key + "\n";
  if (fd < 0 || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()) || fsync(fd) != 0 ||
      rename(fresh.c_str(), path.c_str()) != 0) {
    Error e{Errc::io, path, std::string("cannot keep the admin key: ") + std::strerror(errno), "master"};
    if (fd >= 0) close(fd);
    return e;
  }
  close(fd);
  return AdminKey{*key, true, path};
}

}  // namespace sluice::master
