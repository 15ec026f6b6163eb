#include "worker/io/reactor.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <ctime>
#include <system_error>

namespace sluice::worker {

namespace asio = boost::asio;

// Everything of Asio's: the watched epoll descriptor and the 100 ms timer.
struct Reactor::AsioLink {
  AsioLink(Reactor& owner, asio::io_context& context, int fd, void (*tick)(void*), void* argument)
      : reactor(owner), watched(context, fd), timer(context), on_tick(tick), tick_argument(argument) {}

  void watch() {
    watched.async_wait(asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code& e) {
      if (e) return;
      step();
    });
  }
  void step() {
    reactor.refresh_clock();
    if (reactor.run_turn())
      asio::post(watched.get_executor(), [this] {
        if (!stopped) step();
      });
    else
      watch();
  }
  void start_timer() {
    timer.expires_after(std::chrono::nanoseconds(Deadlines::kTickNs));
    timer.async_wait([this](const boost::system::error_code& e) {
      if (e || stopped) return;
      reactor.refresh_clock();
      reactor.deadlines_.sweep(reactor.now_);
      if (on_tick != nullptr) on_tick(tick_argument);
      reactor.free_retired();
      if (stopped) return;
      if (reactor.ready_first_ != nullptr) asio::post(watched.get_executor(), [this] {
          if (!stopped) reactor.run_turn();
        });
      start_timer();
    });
  }

  Reactor& reactor;
  asio::posix::stream_descriptor watched;
  asio::steady_timer timer;
  void (*on_tick)(void*);
  void* tick_argument;
  bool stopped = false;
};

Reactor::Reactor() : now_(monotonic_now()), wall_(wall_now()), deadlines_(now_) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  timer_fd_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (epoll_ < 0 || timer_fd_ < 0) throw std::system_error(errno, std::generic_category(), "reactor");
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;  // null: the timer
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, timer_fd_, &event) != 0)
    throw std::system_error(errno, std::generic_category(), "reactor timer");
}

Reactor::~Reactor() {
  free_retired();
  detach();
  link_.reset();
  if (timer_fd_ >= 0) ::close(timer_fd_);
  if (epoll_ >= 0) ::close(epoll_);
}

void Reactor::attach(asio::io_context& context, void (*on_tick)(void*), void* tick_argument) {
  const int copy = ::fcntl(epoll_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw std::system_error(errno, std::generic_category(), "reactor");
  link_ = std::make_unique<AsioLink>(*this, context, copy, on_tick, tick_argument);
  link_->watch();
  link_->start_timer();
}

void Reactor::detach() noexcept {
  if (!link_ || link_->stopped) return;
  link_->stopped = true;
  boost::system::error_code ignored;
  link_->watched.cancel(ignored);
  link_->timer.cancel();
}

void Reactor::refresh_clock() noexcept {
  now_ = std::max(now_, monotonic_now());
  wall_ = wall_now();
}

bool Reactor::add(Io& io, int fd, std::uint8_t ready) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &io;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return false;
  io.fd_ = fd;
  io.ready_ = ready;
  io.fresh_ = 0;
  io.failed_ = false;
  io.interest = 0;
  return true;
}

bool Reactor::add_listener(Io& io, int fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLEXCLUSIVE;
  event.data.ptr = &io;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return false;
  io.fd_ = fd;
  io.ready_ = 0;
  io.fresh_ = 0;
  io.interest = kRead;
  return true;
}

int Reactor::release(Io& io) noexcept {
  const int fd = io.fd_;
  if (fd < 0) return -1;
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  io.fd_ = -1;
  io.ready_ = io.fresh_ = io.interest = 0;
  return fd;
}

void Reactor::close(Io& io) noexcept {
  const int fd = release(io);
  if (fd >= 0) ::close(fd);
}

void Reactor::close_with_reset(Io& io) noexcept {
  if (io.fd_ < 0) return;
  const linger at_once{1, 0};
  ::setsockopt(io.fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(io);
}

void Reactor::retire(Retirable& object) noexcept {
  object.next_ = retired_;
  retired_ = &object;
}

void Reactor::free_retired() noexcept {
  while (Retirable* object = retired_) {
    retired_ = object->next_;
    object->destroy();
  }
}

void Reactor::make_ready(Fiber& fiber) noexcept {
  fiber.ready_next_ = nullptr;
  fiber.in_ready_list_ = true;
  *ready_last_ = &fiber;
  ready_last_ = &fiber.ready_next_;
}

void Reactor::run_ready() noexcept {
  // Only those that are in the list now: one that yields again waits for the next turn.
  Fiber* fiber = ready_first_;
  ready_first_ = nullptr;
  ready_last_ = &ready_first_;
  while (fiber != nullptr) {
    Fiber* const next = fiber->ready_next_;
    fiber->in_ready_list_ = false;
    fiber->fire(Why::yielded);
    fiber = next;
  }
}

void Reactor::start_timer(Fiber& fiber, TimePoint when) noexcept {
  timers_.add(fiber, when);
  arm_timer();
}

void Reactor::arm_timer() noexcept {
  const std::int64_t next = timers_.next_ns();
  if (next == 0 || (armed_ns_ != 0 && armed_ns_ <= next)) return;  // an early wake-up re-arms
  itimerspec spec{};
  spec.it_value.tv_sec = next / 1'000'000'000;
  spec.it_value.tv_nsec = next % 1'000'000'000;
  ::timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &spec, nullptr);
  armed_ns_ = next;
}

void Reactor::run_timers() noexcept {
  timer_due_ = false;
  armed_ns_ = 0;
  refresh_clock();
  timers_.fire_due(now_);
  arm_timer();
}

int Reactor::dispatch(int timeout_ms) noexcept {
  epoll_event events[kBatch];
  const int n = ::epoll_wait(epoll_, events, kBatch, timeout_ms);
  refresh_clock();
  if (n <= 0) return 0;
  for (int i = 0; i < n; ++i) {
    if (events[i].data.ptr == nullptr) {
      timer_due_ = true;
      continue;
    }
    Io& io = *static_cast<Io*>(events[i].data.ptr);
    std::uint8_t edges = 0;
    const std::uint32_t e = events[i].events;
    if (e & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) edges |= kRead;
    if (e & (EPOLLOUT | EPOLLHUP | EPOLLERR)) edges |= kWrite;
    if (e & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) edges |= kHangup;
    if (e & (EPOLLERR)) io.failed_ = true;
    io.ready_ |= edges;
    io.fresh_ = edges;
  }
  for (int i = 0; i < n; ++i) {
    if (events[i].data.ptr == nullptr) continue;
    Io& io = *static_cast<Io*>(events[i].data.ptr);
    if (io.fd_ >= 0 && (io.fresh_ & io.interest) != 0 && io.owner != nullptr) {
      io.fresh_ = 0;
      io.owner->on_io(io);
    }
    if ((i & 31) == 31) refresh_clock();
  }
  return n;
}

// While there is work the reactor waits for more of it by itself: each way back through Asio costs three system calls.
// After kTurnNs it goes back all the same, and when a millisecond has brought nothing.
bool Reactor::run_turn() noexcept {
  const std::int64_t end = to_ns(now_) + kTurnNs;
  int n = dispatch(0);
  while (n != 0 || ready_first_ != nullptr) {
    if (timer_due_) run_timers();
    if (ready_first_ != nullptr) run_ready();
    free_retired();
    if (to_ns(now_) >= end) return true;
    n = dispatch(ready_first_ != nullptr ? 0 : 1);
  }
  return false;
}

void Reactor::turn(int timeout_ms) noexcept {
  if (ready_first_ != nullptr) timeout_ms = 0;
  dispatch(timeout_ms);
  if (timer_due_) run_timers();
  refresh_clock();
  if (ready_first_ != nullptr) run_ready();
  deadlines_.sweep(now_);
  free_retired();
}

}  // namespace sluice::worker
