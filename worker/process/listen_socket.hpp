// A listening socket that the master opened before forking; children only accept from it.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::worker {

struct ListenSocket {
  enum class Role : std::uint8_t { proxy, admin, control, status, metrics, bus };
  int fd = -1;
  Role role = Role::proxy;
  std::string address;          // "0.0.0.0:9080", "[::]:9080", "unix:/run/x.sock"
  bool proxy_protocol = false;  // connections begin with a PROXY protocol header
};

}  // namespace sluice::worker
