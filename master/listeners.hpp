// Listening sockets: opened once, kept over reloads and over the death of any child.
//
// A reload is a transaction: what is new is opened first, and only when all of it could be opened is the old set
// replaced. What the new set does not name stays open until settle(), so that restore() can take the change back. A
// socket that both sets name is kept as it is, its queue included.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conf/base/result.hpp"
#include "worker/process/listen_socket.hpp"

namespace sluice::master {

using worker::ListenSocket;

struct ListenWish {
  ListenSocket::Role role;
  std::string ip;               // "0.0.0.0", "::", "127.0.0.1"; for unix sockets "unix:/path"
  int port = 0;
  bool proxy_protocol = false;

  std::string address() const;  // "0.0.0.0:9080", "[::]:9080"
};

class Listeners {
 public:
  Listeners() = default;
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;
  ~Listeners();

  // All or nothing. Error: which address could not be opened and why; the set in force stays untouched.
  Result<void> replace(const std::vector<ListenWish>& wishes);
  void settle() noexcept;    // the change stays: closes what the last replace() left out
  void restore() noexcept;   // takes the last replace() back, unless it is settled

  // The config bus: an abstract Unix stream socket with an unguessable name, opened on first use.
  Result<std::string> open_bus();

  std::vector<ListenSocket> with_role(ListenSocket::Role role) const;
  const std::vector<ListenSocket>& all() const noexcept { return sockets_; }
  const std::vector<ListenSocket>& left_out() const noexcept { return left_out_; }   // open until settle()
  const ListenSocket* bus() const noexcept { return bus_.fd < 0 ? nullptr : &bus_; }

 private:
  std::vector<ListenSocket> sockets_;
  std::vector<ListenSocket> before_;     // the set that the last replace() replaced
  std::vector<ListenSocket> left_out_;   // of those, the ones without a successor
  ListenSocket bus_;
  std::string bus_name_;
};

}  // namespace sluice::master
