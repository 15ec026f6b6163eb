#include "master/admin_key.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

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

}  // namespace

Result<AdminKey> effective_admin_key(const char* environment, const std::string& configured,
                                     const std::string& data_dir) {
  if (environment != nullptr && *environment != '\0') return AdminKey{environment, false, {}};
  if (!configured.empty()) return AdminKey{configured, false, {}};
  const std::string path = data_dir + "/admin.key";
  {
    std::ifstream in(path);
    std::string key;
    if (in && std::getline(in, key) && !key.empty()) return AdminKey{key, false, path};
  }
  Result<std::string> key = make_key();
  if (!key) return key.error();
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const std::string line = *key + "\n";
  if (fd < 0 || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()) || fsync(fd) != 0) {
    Error e{Errc::io, path, std::string("cannot keep the admin key: ") + std::strerror(errno), "master"};
    if (fd >= 0) close(fd);
    return e;
  }
  close(fd);
  return AdminKey{*key, true, path};
}

}  // namespace sluice::master
