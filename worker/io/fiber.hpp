// Fiber: one session's thread of control. At most one coroutine of a session is suspended in it at a time; an edge of a
// socket in which it is interested, its deadline, its timer or cancel() resumes it.
//
// A deadline is a stamp (sweeps of 100 ms, see deadlines.hpp): setting it is a store, and it stays until changed.
// A timer is exact to a millisecond (timer_heap.hpp) and serves the pauses of limiters.
//
//   fiber.set_deadline(now + timeout);
//   Why why = co_await fiber.readable(io);
//   Why why = co_await fiber.any(a, kRead, b, kRead | kWrite);
//
// After a resume nothing of what the caller's caller holds may be touched: the session may be gone.
#pragma once

#include <coroutine>
#include <cstdint>
#include <limits>
#include <utility>

#include "conf/base/clock.hpp"
#include "worker/io/io.hpp"

namespace sluice::worker {

class Deadlines;
class TimerHeap;
class Reactor;

enum class Why : std::uint8_t {
  io,         // a socket of interest has news
  deadline,   // the deadline has passed
  timer,      // the pause is over
  yielded,    // let others run, now goes on
  cancelled,  // the session must end
};

class Fiber : public IoOwner {
 public:
  explicit Fiber(Reactor& reactor) noexcept : reactor_(reactor) {}
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  Reactor& reactor() const noexcept { return reactor_; }
  void set_deadline(TimePoint when) noexcept;
  void clear_deadline() noexcept { deadline_ns_ = kNever; }
  bool overdue(TimePoint now) const noexcept { return to_ns(now) >= deadline_ns_; }

  // Ends the session: the wait in hand, and every later one, returns `cancelled`.
  void cancel() noexcept;
  bool cancelled() const noexcept { return cancelled_; }
  bool suspended() const noexcept { return static_cast<bool>(handle_); }

  void on_io(Io& io) noexcept override;

  // ---- awaiters
  class Wait {
   public:
    Wait(Fiber& fiber, Io* a, std::uint8_t want_a, Io* b, std::uint8_t want_b) noexcept
        : fiber_(fiber), a_(a), b_(b), want_a_(want_a), want_b_(want_b) {}
    bool await_ready() const noexcept;
    void await_suspend(std::coroutine_handle<> h) noexcept;
    Why await_resume() const noexcept;

   private:
    Fiber& fiber_;
    Io* a_;
    Io* b_;
    std::uint8_t want_a_, want_b_;
    mutable bool suspended_ = false;
  };
  Wait readable(Io& io) noexcept { return {*this, &io, kRead, nullptr, 0}; }
  Wait writable(Io& io) noexcept { return {*this, &io, kWrite, nullptr, 0}; }
  Wait any(Io& a, std::uint8_t want_a, Io& b, std::uint8_t want_b) noexcept { return {*this, &a, want_a, &b, want_b}; }

  // Sleeps until `when`; wakes early (`io`) when the peer of `watched` hangs up.
  class Pause {
   public:
    Pause(Fiber& fiber, TimePoint when, Io* watched) noexcept : fiber_(fiber), when_(when), watched_(watched) {}
    bool await_ready() const noexcept;
    void await_suspend(std::coroutine_handle<> h) noexcept;
    Why await_resume() const noexcept;

   private:
    Fiber& fiber_;
    TimePoint when_;
    Io* watched_;
    mutable bool suspended_ = false;
  };
  Pause sleep_until(TimePoint when, Io* watched = nullptr) noexcept { return {*this, when, watched}; }

  // Goes to the end of the reactor's ready list.
  class Yield {
   public:
    explicit Yield(Fiber& fiber) noexcept : fiber_(fiber) {}
    bool await_ready() const noexcept { return fiber_.cancelled_; }
    void await_suspend(std::coroutine_handle<> h) noexcept;
    Why await_resume() const noexcept { return fiber_.cancelled_ ? Why::cancelled : Why::yielded; }

   private:
    Fiber& fiber_;
  };
  Yield yield() noexcept { return Yield(*this); }

 private:
  friend class Deadlines;
  friend class TimerHeap;
  friend class Reactor;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint32_t kNoTimer = ~0u;

  void fire(Why why) noexcept;

  Reactor& reactor_;
  std::coroutine_handle<> handle_;
  std::int64_t deadline_ns_ = kNever;
  std::int64_t slot_tick_ = 0;         // tick of the wheel slot we hang in
  Fiber* wheel_prev_ = nullptr;
  Fiber* wheel_next_ = nullptr;        // both null: in no slot
  Fiber* ready_next_ = nullptr;
  std::int64_t timer_ns_ = 0;
  std::uint32_t timer_index_ = kNoTimer;
  Why why_ = Why::io;
  bool cancelled_ = false;
  bool in_ready_list_ = false;
};

}  // namespace sluice::worker
