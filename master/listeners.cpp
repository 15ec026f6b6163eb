#include "master/listeners.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace sluice::master {

namespace {

constexpr int kBacklog = 4096;   // the kernel lowers it to net.core.somaxconn

Error system_error(const std::string& what, const std::string& address) {
  return Error{Errc::io, address, what + ": " + std::strerror(errno), "master", false};
}

Result<int> open_tcp(const ListenWish& wish) {
  const bool v6 = wish.ip.find(':') != std::string::npos;
  sockaddr_storage storage{};
  socklen_t length = 0;
  if (v6) {
    auto* a = reinterpret_cast<sockaddr_in6*>(&storage);
    a->sin6_family = AF_INET6;
    a->sin6_port = htons(static_cast<std::uint16_t>(wish.port));
    length = sizeof *a;
    if (inet_pton(AF_INET6, wish.ip.c_str(), &a->sin6_addr) != 1) return invalid("expected an IP address", wish.ip);
  } else {
    auto* a = reinterpret_cast<sockaddr_in*>(&storage);
    a->sin_family = AF_INET;
    a->sin_port = htons(static_cast<std::uint16_t>(wish.port));
    length = sizeof *a;
    if (inet_pton(AF_INET, wish.ip.c_str(), &a->sin_addr) != 1) return invalid("expected an IP address", wish.ip);
  }
  const int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return system_error("cannot open a socket", wish.address());
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // [::] stands beside 0.0.0.0, it does not swallow it.
  if (v6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (bind(fd, reinterpret_cast<sockaddr*>(&storage), length) != 0 || listen(fd, kBacklog) != 0) {
    Error e = system_error("cannot listen", wish.address());
    close(fd);
    return e;
  }
  return fd;
}

bool same(const ListenSocket& socket, const ListenWish& wish) {
  return socket.role == wish.role && socket.address == wish.address() && socket.proxy_protocol == wish.proxy_protocol;
}

bool holds(const std::vector<ListenSocket>& sockets, int fd) {
  return std::any_of(sockets.begin(), sockets.end(), [fd](const ListenSocket& s) { return s.fd == fd; });
}

}  // namespace

std::string ListenWish::address() const {
  return (ip.find(':') == std::string::npos ? ip : "[" + ip + "]") + ":" + std::to_string(port);
}

Listeners::~Listeners() {
  settle();
  for (const ListenSocket& s : sockets_) close(s.fd);
  if (bus_.fd >= 0) close(bus_.fd);
}

Result<void> Listeners::replace(const std::vector<ListenWish>& wishes) {
  settle();
  std::vector<ListenSocket> next;
  std::vector<int> opened;
  for (const ListenWish& wish : wishes) {
    auto kept = std::find_if(sockets_.begin(), sockets_.end(), [&](const ListenSocket& s) { return same(s, wish); });
    if (kept != sockets_.end()) {
      next.push_back(*kept);
      continue;
    }
    // An address that only changes its role keeps its socket too: two binds of one address would refuse each other.
    auto moved = std::find_if(sockets_.begin(), sockets_.end(),
                              [&](const ListenSocket& s) { return s.address == wish.address(); });
    if (moved != sockets_.end()) {
      next.push_back({moved->fd, wish.role, moved->address, wish.proxy_protocol});
      continue;
    }
    Result<int> fd = open_tcp(wish);
    if (!fd) {
      // An IPv6 wildcard on a machine without IPv6 is no reason to refuse the start.
      if (wish.ip == "::" && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) continue;
      for (int done : opened) close(done);
      return fd.error();
    }
    opened.push_back(*fd);
    next.push_back({*fd, wish.role, wish.address(), wish.proxy_protocol});
  }
  std::copy_if(sockets_.begin(), sockets_.end(), std::back_inserter(left_out_),
               [&](const ListenSocket& old) { return !holds(next, old.fd); });
  before_ = std::exchange(sockets_, std::move(next));
  return {};
}

void Listeners::settle() noexcept {
  for (const ListenSocket& old : left_out_) close(old.fd);
  left_out_.clear();
  before_.clear();
}

void Listeners::restore() noexcept {
  if (before_.empty()) return;
  for (const ListenSocket& fresh : sockets_)
    if (!holds(before_, fresh.fd)) close(fresh.fd);
  sockets_ = std::move(before_);
  before_.clear();
  left_out_.clear();
}

Result<std::string> Listeners::open_bus() {
  if (bus_.fd >= 0) return bus_name_;
  unsigned char random[12];
  if (getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    return system_error("no random octets", "bus");
  std::string name(1, '\0');
  name += "sluice-bus-";
  for (unsigned char octet : random) {
    const char* digits = "0123456789abcdef";
    name += digits[octet >> 4];
    name += digits[octet & 15];
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return system_error("cannot open a socket", "bus");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(fd, 512) != 0) {
    Error e = system_error("cannot listen", "bus");
    close(fd);
    return e;
  }
  bus_ = {fd, ListenSocket::Role::bus, "bus", false};
  bus_name_ = name;
  return name;
}

std::vector<ListenSocket> Listeners::with_role(ListenSocket::Role role) const {
  std::vector<ListenSocket> found;
  for (const ListenSocket& s : sockets_)
    if (s.role == role) found.push_back(s);
  return found;
}

}  // namespace sluice::master
