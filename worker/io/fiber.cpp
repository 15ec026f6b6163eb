#include "worker/io/fiber.hpp"

#include "worker/io/reactor.hpp"

namespace sluice::worker {

Fiber::~Fiber() {
  reactor_.deadlines().remove(*this);
  reactor_.timers().remove(*this);
}

void Fiber::set_deadline(TimePoint when) noexcept {
  deadline_ns_ = to_ns(when);
  reactor_.deadlines().place(*this);
}

void Fiber::fire(Why why) noexcept {
  if (!handle_) return;
  why_ = why;
  std::exchange(handle_, nullptr).resume();
}

void Fiber::cancel() noexcept {
  cancelled_ = true;
  if (!in_ready_list_) fire(Why::cancelled);  // one in the ready list finds out when its turn comes
}

void Fiber::on_io(Io&) noexcept { fire(Why::io); }

bool Fiber::Wait::await_ready() const noexcept {
  if (fiber_.cancelled_) return true;
  if (a_ != nullptr && (((want_a_ & kRead) && a_->readable()) || ((want_a_ & kWrite) && a_->writable()) ||
                        ((want_a_ & kHangup) && a_->hangup())))
    return true;
  return b_ != nullptr && (((want_b_ & kRead) && b_->readable()) || ((want_b_ & kWrite) && b_->writable()) ||
                           ((want_b_ & kHangup) && b_->hangup()));
}

void Fiber::Wait::await_suspend(std::coroutine_handle<> h) noexcept {
  suspended_ = true;
  if (a_ != nullptr) a_->interest = want_a_;
  if (b_ != nullptr) b_->interest = want_b_;
  fiber_.handle_ = h;
}

Why Fiber::Wait::await_resume() const noexcept {
  if (suspended_) {
    if (a_ != nullptr) a_->interest = 0;
    if (b_ != nullptr) b_->interest = 0;
  }
  if (fiber_.cancelled_) return Why::cancelled;
  return suspended_ ? fiber_.why_ : Why::io;
}

bool Fiber::Pause::await_ready() const noexcept {
  return fiber_.cancelled_ || (watched_ != nullptr && watched_->hangup()) || when_ <= fiber_.reactor_.now();
}

void Fiber::Pause::await_suspend(std::coroutine_handle<> h) noexcept {
  suspended_ = true;
  if (watched_ != nullptr) watched_->interest = kHangup;
  fiber_.handle_ = h;
  fiber_.reactor_.start_timer(fiber_, when_);
}

Why Fiber::Pause::await_resume() const noexcept {
  if (suspended_) {
    if (watched_ != nullptr) watched_->interest = 0;
    fiber_.reactor_.timers().remove(fiber_);
  }
  if (fiber_.cancelled_) return Why::cancelled;
  if (suspended_) return fiber_.why_;
  return watched_ != nullptr && watched_->hangup() ? Why::io : Why::timer;
}

void Fiber::Yield::await_suspend(std::coroutine_handle<> h) noexcept {
  fiber_.handle_ = h;
  fiber_.reactor_.make_ready(fiber_);
}

}  // namespace sluice::worker
