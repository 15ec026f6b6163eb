#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "worker/upstream/connection.hpp"

namespace sluice::worker {

namespace {

// A non-blocking connect in progress (or done), or -1.
int begin_connect(const live::Node& node, const Io& watched, bool& done) noexcept {
  if (io_fault_for_test != nullptr && io_fault_for_test->before(watched, 'c') != 0) return -1;
  if (node.socket.length == 0) return -1;
  const int fd = ::socket(node.socket.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (node.socket.family() != AF_UNIX) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  done = ::connect(fd, node.socket.data(), node.socket.length) == 0;
  if (!done && errno != EINPROGRESS) {
    ::close(fd);
    return -1;
  }
  return fd;
}

int socket_error(int fd) noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

}  // namespace

Task<ConnectResult> connect(Fiber& fiber, const live::Node& node, nanoseconds timeout, Io& watched,
                            UpstreamConnection*& connection) noexcept {
  connection = nullptr;
  Reactor& reactor = fiber.reactor();
  bool done = false;
  const int fd = begin_connect(node, watched, done);
  if (fd < 0) co_return ConnectResult::refused;
  auto* made = new UpstreamConnection();
  if (!reactor.add(made->io, fd, done ? kWrite : 0)) {
    ::close(fd);
    delete made;
    co_return ConnectResult::refused;
  }
  made->key = node.pool_key;
  made->address = node.socket;
  made->io.owner = &fiber;
  ConnectResult result = ConnectResult::connected;
  if (!done) {
    fiber.set_deadline(reactor.now() + timeout);
    while (true) {
      const std::uint8_t watch = watched.hangup() ? 0 : kHangup;
      const Why why = co_await fiber.any(made->io, kWrite, watched, watch);
      if (why == Why::cancelled || watched.failed()) result = ConnectResult::cancelled;
      if (why == Why::deadline) result = ConnectResult::timed_out;
      if (result != ConnectResult::connected || made->io.writable()) break;
    }
    fiber.clear_deadline();
    if (result == ConnectResult::connected && socket_error(fd) != 0) result = ConnectResult::refused;
  }
  if (result == ConnectResult::connected) {
    connection = made;
  } else {
    reactor.close(made->io);
    reactor.retire(*made);
  }
  co_return result;
}

}  // namespace sluice::worker
