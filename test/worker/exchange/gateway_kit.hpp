// A worker's request path in one thread of the test: real tables, real sockets on the loopback, no bus and no Asio.
//
// The test plays client and origin with non-blocking sockets and turns the reactor itself, so nothing sleeps and every
// run is the same.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/model/kinds.hpp"
#include "plugins/sdk/registry.hpp"
#include "shm/catalog.hpp"
#include "worker/exchange/session.hpp"
#include "worker/exchange/worker_context.hpp"
#include "worker/live/tables.hpp"

namespace sluice::worker::test {

inline int listen_on_loopback(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof a;
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
  REQUIRE(::listen(fd, 64) == 0);
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &length) == 0);
  port = ntohs(a.sin_port);
  return fd;
}

// One end of a connection that the test plays.
struct Peer {
  int fd = -1;
  std::string in;
  bool ended = false;
  Peer() = default;
  explicit Peer(int f) : fd(f) {}
  Peer(Peer&& o) noexcept : fd(std::exchange(o.fd, -1)), in(std::move(o.in)), ended(o.ended) {}
  Peer& operator=(Peer&& o) noexcept {
    close();
    fd = std::exchange(o.fd, -1);
    in = std::move(o.in);
    ended = o.ended;
    return *this;
  }
  ~Peer() { close(); }
  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }
  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void pull() {
    if (fd < 0) return;
    char block[65536];
    while (true) {
      const ssize_t n = ::recv(fd, block, sizeof block, MSG_DONTWAIT);
      if (n > 0) {
        in.append(block, static_cast<std::size_t>(n));
        continue;
      }
      if (n == 0 || errno != EAGAIN) ended = true;
      return;
    }
  }
  std::string take() { return std::exchange(in, {}); }
};

class Gateway {
 public:
  explicit Gateway(std::function<void(Settings&)> tune = {}) : catalog_(shm::Catalog::create_for_test()) {
    if (tune) tune(settings);
    settings.real_ip_from.seal();
    settings.trusted.seal();
    host_.catalog = catalog_.get();
    host_.worker_slot = 0;
    tables = std::make_unique<live::Tables>(live::TablesOptions{}, host_, enabled_);
    origin_fd_ = listen_on_loopback(origin_port);
    listener_ = listen_on_loopback(port);
    worker.emplace(WorkerContext{reactor, *tables, pool, settings});
    worker->process = {"test", 0, 1};
  }
  ~Gateway() {
    for (Session* s = worker->sessions; s != nullptr;) {
      Session* const next = s->next_in_worker();
      s->fiber.cancel();
      s = next;
    }
    reactor.finish_ready();
    pool.clear();
    ::close(origin_fd_);
    ::close(listener_);
  }

  void put(conf::Kind kind, const std::string& id, const std::string& json) {
    const live::Change change{kind, id, false, json, ++revision_, revision_};
    const auto errors = tables->apply({&change, 1});
    for (const auto& e : errors) FAIL(e.message);
  }
  // A catch-all route to the test's origin; `more` is put into the route object.
  void route(const std::string& more = "", const std::string& upstream_more = "") {
    put(conf::Kind::route, "1",
        R"({"uri":"/*",)" + more + R"("upstream":{"type":"roundrobin",)" + upstream_more + R"("nodes":{"127.0.0.1:)" +
            std::to_string(origin_port) + R"(":1}}})");
  }

  Peer connect() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    const int accepted = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    REQUIRE(accepted >= 0);
    Session::start(*worker, accepted, 80, false);
    return Peer(fd);
  }
  // Turns the reactor until `done`, at most `turns` of up to 10 ms.
  bool until(const std::function<bool()>& done, int turns = 300) {
    for (int i = 0; i < turns; ++i) {
      if (done()) return true;
      reactor.turn(i < 5 ? 0 : 10);
    }
    return done();
  }
  void settle() {
    for (int i = 0; i < 8; ++i) reactor.turn(1);
  }
  // The next connection that the gateway makes to the origin.
  Peer origin() {
    int fd = -1;
    until([&] { return (fd = ::accept4(origin_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0; });
    REQUIRE(fd >= 0);
    return Peer(fd);
  }
  int origin_listener() const { return origin_fd_; }
  bool no_origin() {
    settle();
    const int fd = ::accept4(origin_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) ::close(fd);
    return fd < 0;
  }
  std::string expect(Peer& peer, std::string_view part) {
    until([&] {
      peer.pull();
      return peer.in.find(part) != std::string::npos || peer.ended;
    });
    INFO(peer.in);
    CHECK(peer.in.find(part) != std::string::npos);
    return peer.in;
  }
  bool ends(Peer& peer) {
    return until([&] {
      peer.pull();
      return peer.ended;
    });
  }

  Settings settings;
  Reactor reactor;
  UpstreamPool pool{reactor};
  std::unique_ptr<live::Tables> tables;
  std::optional<WorkerContext> worker;
  std::uint16_t port = 0, origin_port = 0;

 private:
  std::unique_ptr<shm::Catalog> catalog_;
  sdk::PluginHost host_;
  sdk::EnabledPlugins enabled_;
  int origin_fd_ = -1, listener_ = -1;
  std::uint64_t revision_ = 0;
};

}  // namespace sluice::worker::test
