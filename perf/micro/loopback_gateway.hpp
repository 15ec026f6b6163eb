// A worker's whole request path in one thread, over loopback sockets: the benchmark plays client and origin and turns the
// reactor itself. What it counts of user instructions is the gateway and these few send and recv calls.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "conf/model/kinds.hpp"
#include "plugins/sdk/registry.hpp"
#include "shm/catalog.hpp"
#include "worker/exchange/session.hpp"
#include "worker/exchange/worker_context.hpp"
#include "worker/live/tables.hpp"

namespace sluice::perf {

class LoopbackGateway {
 public:
  explicit LoopbackGateway(std::string_view route_more) {
    settings_.keepalive_requests = 1'000'000'000;
    settings_.real_ip_from.seal();
    settings_.trusted.seal();
    host_.catalog = catalog_.get();
    host_.worker_slot = static_cast<int>(catalog_->claim_worker(shm::WorkerRole::worker, 1, 0).value());
    tables_ = std::make_unique<live::Tables>(live::TablesOptions{}, host_, sdk::EnabledPlugins{});
    std::uint16_t origin_port = 0, port = 0;
    const int origin_listener = listen(origin_port), listener = listen(port);
    worker_.emplace(worker::WorkerContext{reactor_, *tables_, pool_, settings_});
    worker_->process = {"bench", 0, 1};
    const live::Change route{conf::Kind::route, "1", false,
                             R"({"id":"1","uri":"/*",)" + std::string(route_more) + R"("upstream":{"type":"roundrobin","keepalive_pool":)"
                             R"({"requests":1000000000},"nodes":{"127.0.0.1:)" + std::to_string(origin_port) + R"(":1}}})", 1, 1};
    if (!tables_->apply({&route, 1}).empty()) std::abort();
    client_ = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in to = address(port);
    if (::connect(client_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) std::abort();
    worker::Session::start(*worker_, ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), 80, false);
    send(client_, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    while ((origin_ = ::accept4(origin_listener, nullptr, nullptr, SOCK_NONBLOCK)) < 0) reactor_.turn(1);
    finish();
  }
  ~LoopbackGateway() {
    for (worker::Session* s = worker_->sessions; s != nullptr;) {
      worker::Session* const next = s->next_in_worker();
      s->fiber.cancel();
      s = next;
    }
    reactor_.finish_ready();
    pool_.clear();
  }

  // REQUIRES: `request` has no body.
  void round_trip(std::string_view request) {
    send(client_, request);
    finish();
  }

 private:
  static constexpr std::string_view kAnswer =
      "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n"
      "Connection: keep-alive\r\n\r\n"
      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

  static sockaddr_in address(std::uint16_t port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons(port);
    return a;
  }
  static int listen(std::uint16_t& port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in a = address(0);
    socklen_t length = sizeof a;
    if (::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0 || ::listen(fd, 16) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &length) != 0)
      std::abort();
    port = ntohs(a.sin_port);
    return fd;
  }
  static void send(int fd, std::string_view text) {
    if (::send(fd, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) std::abort();
  }
  void turn_until_readable(int fd) {
    char block[4096];
    while (::recv(fd, block, sizeof block, MSG_DONTWAIT) <= 0) reactor_.turn(1);
  }
  void finish() {
    turn_until_readable(origin_);
    send(origin_, kAnswer);
    turn_until_readable(client_);
  }

  std::unique_ptr<shm::Catalog> catalog_ = shm::Catalog::create({}, 8).value();
  sdk::PluginHost host_;
  worker::Settings settings_;
  worker::Reactor reactor_;
  worker::UpstreamPool pool_{reactor_};
  std::unique_ptr<live::Tables> tables_;
  std::optional<worker::WorkerContext> worker_;
  int client_ = -1, origin_ = -1;
};

}  // namespace sluice::perf
