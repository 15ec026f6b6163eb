// UpstreamConnection: one connection to a node, in use by an exchange or idle in the pool. It owns no buffer.
#pragma once

#include <cstdint>

#include "conf/base/clock.hpp"
#include "worker/io/fiber.hpp"
#include "worker/io/frame_pool.hpp"
#include "worker/io/io.hpp"
#include "worker/io/reactor.hpp"
#include "worker/io/task.hpp"
#include "worker/live/node.hpp"

namespace sluice::worker {

class UpstreamPool;

class UpstreamConnection final : public Retirable {
 public:
  static void* operator new(std::size_t n) { return FramePool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { FramePool::release(p, n); }
  void destroy() noexcept override { delete this; }

  Io io;
  std::uint64_t key = 0;         // of the pool
  live::SocketAddress address;   // who is at the other end: a hash alone decides nothing
  std::uint32_t requests = 0;    // begun on it
  bool reused = false;           // came out of the pool
  TimePoint idle_since{};
  nanoseconds idle_timeout{0};

 private:
  friend class UpstreamPool;
  UpstreamConnection* newer_ = nullptr;  // in its bucket, towards the most recently used
  UpstreamConnection* older_ = nullptr;
};

enum class ConnectResult : std::uint8_t { connected, refused, timed_out, cancelled };

// Opens a connection to `node`, at most `timeout` long. On success `connection` belongs to the caller, its io to `fiber`.
// `watched`: the client; when it goes away the attempt is given up (cancelled).
Task<ConnectResult> connect(Fiber& fiber, const live::Node& node, nanoseconds timeout, Io& watched,
                            UpstreamConnection*& connection) noexcept;

}  // namespace sluice::worker
