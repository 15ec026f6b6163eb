#include "worker/live/node.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace sluice::live {

SocketAddress::SocketAddress() noexcept {
  std::memset(static_cast<void*>(&local), 0, sizeof local);
}

SocketAddress SocketAddress::of(const IpAddress& ip, std::uint16_t port) noexcept {
  SocketAddress s;
  if (ip.is_v4()) {
    s.v4.sin_family = AF_INET;
    s.v4.sin_port = htons(port);
    std::memcpy(&s.v4.sin_addr, ip.bytes.data() + 12, 4);
    s.length = sizeof(sockaddr_in);
  } else {
    s.v6.sin6_family = AF_INET6;
    s.v6.sin6_port = htons(port);
    std::memcpy(&s.v6.sin6_addr, ip.bytes.data(), 16);
    s.length = sizeof(sockaddr_in6);
  }
  return s;
}

SocketAddress SocketAddress::of_path(std::string_view path) noexcept {
  SocketAddress s;
  s.local.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(s.local.sun_path)) return s;
  std::copy(path.begin(), path.end(), s.local.sun_path);
  s.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return s;
}

}  // namespace sluice::live
