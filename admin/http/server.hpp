// A small HTTP/1.1 server for the listeners of the admin process (Admin API, control, status, metrics).
//
// One Server per listening socket; the socket was opened by the master and is shared with nobody while this admin
// process is the active one. Everything runs on one io_context with one thread. Bodies are bounded, heads are bounded,
// idle connections time out. A request whose body is over the limit reaches the handler with `oversize` set and no
// body; what the peer still sends is read and dropped within limits, so that it can read the answer.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "admin/http/message.hpp"

namespace sluice::admin::http {

struct ServerOptions {
  std::uint64_t max_body = 1572864;
  std::uint32_t max_head = 65536;
  std::chrono::seconds idle_timeout{75};  // between requests, and for a head to arrive
  std::chrono::seconds body_timeout{60};
  std::size_t max_connections = 1024;    // beyond it a new connection is closed at once
  std::string server_header = "sluice";  // `Server`; empty: none
};

class Server {
 public:
  // Takes over `fd`, a listening TCP socket (it is duplicated; the caller keeps its own). The handler must outlive
  // the server.
  Server(boost::asio::io_context& io, int fd, ServerOptions options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void start();
  void stop_accepting();              // the socket stays open elsewhere: peers wait in its queue
  void close_all();                   // and drops the connections that are idle; busy ones end with their answer
  std::size_t busy() const noexcept;  // requests that have not been answered yet
  unsigned short port() const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::admin::http
