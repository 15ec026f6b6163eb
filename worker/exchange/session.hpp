// Session: one client connection, from accept to close.
//
// It reads heads, makes an Exchange for each request, and hands on what is left in its buffer (pipelining). Between
// requests it holds no buffer and no exchange: an idle connection is this object and one small coroutine frame.
#pragma once

#include <cstdint>
#include <string_view>

#include "conf/base/cidr.hpp"
#include "worker/exchange/worker_context.hpp"
#include "worker/io/buffer.hpp"
#include "worker/io/fiber.hpp"
#include "worker/io/frame_pool.hpp"
#include "worker/io/reactor.hpp"
#include "worker/io/task.hpp"

namespace sluice::worker {

class Exchange;

class Session final : public Retirable {
 public:
  static void* operator new(std::size_t n) { return FramePool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { FramePool::release(p, n); }
  void destroy() noexcept override { delete this; }

  // Takes over an accepted, non-blocking socket and begins to serve it. `expect_proxy_protocol`: see ListenSocket.
  static void start(WorkerContext& worker, int fd, std::uint16_t listener_port, bool expect_proxy_protocol) noexcept;

  // ---- for the exchange
  WorkerContext& worker;
  Fiber fiber;
  Io client;
  std::string_view buffered() const noexcept { return {in_.data() + begin_, end_ - begin_}; }
  char* buffered_data() noexcept { return in_.data() + begin_; }
  void consume(std::size_t n) noexcept { begin_ += static_cast<std::uint32_t>(n); }
  // Octets that were read past the end of a body: they come before anything else at the next request.
  void unread(std::string_view octets) noexcept;

  // ---- facts of the connection
  IpAddress peer;
  std::uint16_t peer_port = 0;
  std::uint16_t server_port = 0;
  bool local_socket = false;         // a Unix socket: no address
  std::uint64_t id = 0;
  std::uint32_t requests = 0;
  TimePoint opened{};
  std::string_view peer_text() const noexcept { return {peer_text_, peer_text_size_}; }
  std::string_view server_text() const noexcept { return {server_text_, server_text_size_}; }

  bool idle() const noexcept { return idle_; }
  Session* next_in_worker() const noexcept { return next_; }
  // Ends an idle connection, or lets the request in hand be the last.
  void drain() noexcept;

 private:
  explicit Session(WorkerContext& w) noexcept : worker(w), fiber(w.reactor) {}
  ~Session() = default;
  Root run() noexcept;
  Task<bool> read_head() noexcept;    // until some octets of a head are buffered
  Task<void> linger() noexcept;
  Task<bool> read_proxy_protocol() noexcept;
  bool make_room() noexcept;          // for more octets of a head; false: as large as it gets
  void learn_addresses(int fd) noexcept;
  void set_peer(const IpAddress& address, std::uint16_t port) noexcept;
  void finish() noexcept;
  void hang_in() noexcept;
  void hang_out() noexcept;

  Buffer in_;
  Buffer carry_;                      // see unread()
  std::uint32_t begin_ = 0, end_ = 0;
  std::uint32_t carry_size_ = 0;
  std::uint32_t scanned_ = 0;         // octets that did not make a head at the last attempt
  std::uint32_t burst_ = 0;           // requests since the last wait
  std::uint8_t peer_text_size_ = 0, server_text_size_ = 0;
  bool expect_proxy_protocol_ = false;
  bool idle_ = false;
  bool linger_ = false;
  bool reset_ = false;
  Session* previous_ = nullptr;
  Session* next_ = nullptr;
  char peer_text_[48];
  char server_text_[48];
};

}  // namespace sluice::worker
