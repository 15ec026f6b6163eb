// Reactor: the worker's own edge-triggered epoll set, nested in Asio.
//
// Each socket is registered once (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET). Asio watches the epoll descriptor itself,
// so that its timers, signals and slow-path sockets live in the same loop. On a wake-up a batch of at most 256 events is
// taken; first all edges are noted in their Io, then owners are told, so that a session that picks a pooled connection
// already knows of octets that arrived on it in the same batch.
//
// Fairness: sessions that used up their budget are resumed once per batch from a ready list; after two milliseconds the
// reactor goes back to Asio, so that timers, the configuration bus and the heartbeat are never starved.
//
// Objects are deleted after the batch (retire), because later events of the batch may still point to them; a descriptor
// leaves the epoll set before it is closed, because an inherited copy would keep it in.
#pragma once

#include <cstdint>
#include <memory>

#include "conf/base/clock.hpp"
#include "worker/io/deadlines.hpp"
#include "worker/io/fiber.hpp"
#include "worker/io/io.hpp"
#include "worker/io/timer_heap.hpp"

namespace boost::asio {
class io_context;
}

namespace sluice::worker {

// What must outlive the batch in which it ends.
class Retirable {
 public:
  virtual void destroy() noexcept = 0;

 protected:
  ~Retirable() = default;

 private:
  friend class Reactor;
  Retirable* next_ = nullptr;
};

class Reactor {
 public:
  // Throws std::system_error when the kernel gives no descriptors: only at start.
  Reactor();
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Lets Asio drive the reactor from now on. Sweeps deadlines every 100 ms and calls `on_tick` after each sweep.
  void attach(boost::asio::io_context& context, void (*on_tick)(void*), void* tick_argument);
  void detach() noexcept;
  // One turn without Asio: waits up to `timeout_ms`, then dispatches. For tests and small tools.
  void turn(int timeout_ms) noexcept;

  // Takes over `fd`. `ready`: what is known of it. False: no room in the kernel; the caller closes fd.
  bool add(Io& io, int fd, std::uint8_t ready) noexcept;
  // Level-triggered, exclusive among processes; edges reach owner->on_io while connections wait.
  bool add_listener(Io& io, int fd) noexcept;
  // Out of the epoll set, then close.
  void close(Io& io) noexcept;
  void close_with_reset(Io& io) noexcept;
  // The kernel has said that nothing is there to read: forget an older belief.
  void settle_readable(Io& io) noexcept { io.ready_ &= static_cast<std::uint8_t>(~kRead); }
  // Out of the epoll set, the descriptor stays open and is returned.
  int release(Io& io) noexcept;

  void retire(Retirable& object) noexcept;
  void make_ready(Fiber& fiber) noexcept;
  // Resumes what is in the ready list until it is empty: at the end of the process, when every session was cancelled.
  void finish_ready() noexcept {
    while (ready_first_ != nullptr) run_ready();
  }

  TimePoint now() const noexcept { return now_; }
  WallTime wall() const noexcept { return wall_; }
  void refresh_clock() noexcept;

  Deadlines& deadlines() noexcept { return deadlines_; }
  void start_timer(Fiber& fiber, TimePoint when) noexcept;
  TimerHeap& timers() noexcept { return timers_; }

 private:
  struct AsioLink;
  static constexpr int kBatch = 256;
  static constexpr std::int64_t kTurnNs = 2'000'000;

  int dispatch(int timeout_ms) noexcept;  // one batch; number of events
  void run_ready() noexcept;
  void run_timers() noexcept;
  void arm_timer() noexcept;
  void free_retired() noexcept;
  bool run_turn() noexcept;  // true: more is at hand, come again at once

  int epoll_ = -1;
  int timer_fd_ = -1;
  std::int64_t armed_ns_ = 0;
  bool timer_due_ = false;
  TimePoint now_;
  WallTime wall_;
  Deadlines deadlines_;
  TimerHeap timers_;
  Fiber* ready_first_ = nullptr;
  Fiber** ready_last_ = &ready_first_;
  Retirable* retired_ = nullptr;
  std::unique_ptr<AsioLink> link_;
};

}  // namespace sluice::worker
