// Node: one address that an upstream may send a request to, ready for connect(2).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "conf/base/cidr.hpp"

namespace sluice::live {

struct SocketAddress {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_un local;
  };
  socklen_t length = 0;

  SocketAddress() noexcept;
  static SocketAddress of(const IpAddress& ip, std::uint16_t port) noexcept;
  // Path of a Unix socket; a path that is too long gives length 0 (connecting fails).
  static SocketAddress of_path(std::string_view path) noexcept;
  const sockaddr* data() const noexcept { return &any; }
  int family() const noexcept { return any.sa_family; }
};

struct Node {
  SocketAddress socket;
  std::string address;          // "127.0.0.1:1980", "[::1]:80", "unix:/run/x"
  std::string ip;               // "127.0.0.1", "[::1]"; of a Unix socket the whole address
  std::string host;             // as configured, before DNS
  std::uint16_t port = 0;
  std::uint32_t weight = 1;
  int priority = 0;
  std::uint32_t group = 0;      // place in its NodeSet
  std::uint32_t entry = 0;      // place in its group
  std::uint64_t pool_key = 0;   // hash of scheme and address; the connection pool mixes in SNI and certificate
};

}  // namespace sluice::live
