// A worker's whole request path for fuzzers: one client on a socket pair, an origin on the loopback, one thread, and an
// optional operation that fails. The fuzzer plays both ends; nothing sleeps.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/log.hpp"
#include "conf/model/kinds.hpp"
#include "plugins/sdk/registry.hpp"
#include "shm/catalog.hpp"
#include "worker/exchange/session.hpp"
#include "worker/exchange/worker_context.hpp"
#include "worker/live/tables.hpp"

namespace sluice::fuzz {

// One end of a connection that the fuzzer plays.
struct End {
  int fd = -1;
  std::string received;
  bool ended = false;
  explicit End(int f) : fd(f) {}
  End(End&& o) noexcept : fd(std::exchange(o.fd, -1)), received(std::move(o.received)), ended(o.ended) {}
  End& operator=(End&&) = delete;
  ~End() { close(); }
  void close() {
    if (fd >= 0) ::close(std::exchange(fd, -1));
  }
  void reset() {
    const linger at_once{1, 0};
    if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }
  void half_close() {
    if (fd >= 0) ::shutdown(fd, SHUT_WR);
  }
  // How much was taken: a full socket takes less, and the rest is not sent.
  std::size_t send(std::string_view text) {
    const ssize_t n = fd < 0 ? 0 : ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  void pull() {
    char block[16384];
    while (fd >= 0 && !ended) {
      const ssize_t n = ::recv(fd, block, sizeof block, MSG_DONTWAIT);
      if (n > 0) {
        received.append(block, static_cast<std::size_t>(n));
        continue;
      }
      ended = n == 0 || errno != EAGAIN;
      return;
    }
  }
};

class Stage {
 public:
  Stage() {
    log::open("/dev/null", log::Level::emerg, "fuzz");
    settings_.real_ip_from.seal();
    settings_.trusted.seal();
    settings_.readable_body = 512;
    settings_.spill = 4096;
    settings_.grace_after_half_close = nanoseconds(0);   // or every round with a half-close takes a second
    host_.catalog = catalog_.get();
    host_.worker_slot = 0;
    tables_ = std::make_unique<live::Tables>(live::TablesOptions{}, host_, enabled_);
    listen_for_origin();
    worker.emplace(worker::WorkerContext{reactor, *tables_, pool_, settings_});
    worker->process = {"fuzz", 0, 1};
    put("plain", R"("uri":"/*")");
    put("body", R"("uri":"/body/*","vars":[["post_arg_a","~=","1"]])");
    put("rewrite", R"("uri":"/rewrite/*","plugins":{"response-rewrite":{"body":"changed","headers":{"set":{"X-B":"1"}}},)"
                   R"("proxy-rewrite":{"headers":{"set":{"X-A":"1"},"remove":["X-C"]}}})");
    put("tunnel", R"("uri":"/ws/*","enable_websocket":true)");
  }

  // Begins a round. fail_at: which operation on any connection fails with ECONNRESET; negative: none.
  void begin(int fail_at) {
    fault_.left = fail_at;
    worker::io_fault_for_test = fail_at < 0 ? nullptr : &fault_;
    before_ = worker::Buffer::outstanding_bytes();
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
    client.emplace(pair[0]);
    worker::Session::start(*worker, pair[1], 80, false);
  }
  // patience: ms that each turn waits when there is nothing to do.
  void turn(int times = 1, int patience = 0) {
    for (int i = 0; i < times; ++i) {
      reactor.turn(patience);
      const int fd = ::accept4(origin_listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) origins.emplace_back(fd);
      for (End& o : origins) o.pull();
      client->pull();
    }
  }
  End* origin() { return origins.empty() ? nullptr : &origins.back(); }
  // Ends a round; aborts when a session or a buffer is left.
  void end() {
    client->close();
    for (int i = 0; worker->session_count != 0 && i < 50; ++i) turn();
    for (End& o : origins) o.close();
    for (int i = 0; worker->session_count != 0 && i < 2000; ++i) reactor.turn(1);
    if (worker->session_count != 0) std::abort();
    worker::io_fault_for_test = nullptr;
    pool_.clear();
    reactor.turn(0);
    if (worker::Buffer::outstanding_bytes() != before_) std::abort();
    origins.clear();
    client.reset();
    for (int fd; (fd = ::accept4(origin_listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) ::close(fd);
  }

  worker::Reactor reactor;
  std::optional<worker::WorkerContext> worker;
  std::optional<End> client;
  std::vector<End> origins;   // the newest is the last

 private:
  struct Nth final : worker::IoFault {
    int left = 0;
    int before(const worker::Io&, char) noexcept override { return left-- == 0 ? ECONNRESET : 0; }
  };

  void listen_for_origin() {
    origin_listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof a;
    if (::bind(origin_listener_, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0 || ::listen(origin_listener_, 64) != 0 ||
        ::getsockname(origin_listener_, reinterpret_cast<sockaddr*>(&a), &length) != 0)
      std::abort();
    origin_port_ = ntohs(a.sin_port);
  }
  void put(const std::string& id, const std::string& what) {
    const live::Change change{conf::Kind::route, id, false,
                              R"({"id":")" + id + "\"," + what + R"(,"upstream":{"type":"roundrobin","nodes":{"127.0.0.1:)" +
                                  std::to_string(origin_port_) + R"(":1}}})",
                              ++revision_, revision_};
    if (!tables_->apply({&change, 1}).empty()) std::abort();
  }

  std::unique_ptr<shm::Catalog> catalog_ = shm::Catalog::create_for_test();
  sdk::PluginHost host_;
  sdk::EnabledPlugins enabled_;
  worker::Settings settings_;
  worker::UpstreamPool pool_{reactor};
  std::unique_ptr<live::Tables> tables_;
  Nth fault_;
  std::size_t before_ = 0;
  int origin_listener_ = -1;
  std::uint16_t origin_port_ = 0;
  std::uint64_t revision_ = 0;
};

}  // namespace sluice::fuzz
