#include "worker/io/timer_heap.hpp"

#include "worker/io/fiber.hpp"

namespace sluice::worker {

std::int64_t TimerHeap::next_ns() const noexcept { return heap_.empty() ? 0 : heap_.front()->timer_ns_; }

void TimerHeap::put(std::uint32_t i, Fiber* fiber) noexcept {
  heap_[i] = fiber;
  fiber->timer_index_ = i;
}

void TimerHeap::up(std::uint32_t i) noexcept {
  Fiber* const moving = heap_[i];
  while (i > 0) {
    const std::uint32_t parent = (i - 1) / 2;
    if (heap_[parent]->timer_ns_ <= moving->timer_ns_) break;
    put(i, heap_[parent]);
    i = parent;
  }
  put(i, moving);
}

void TimerHeap::down(std::uint32_t i) noexcept {
  Fiber* const moving = heap_[i];
  const auto n = static_cast<std::uint32_t>(heap_.size());
  while (true) {
    std::uint32_t child = 2 * i + 1;
    if (child >= n) break;
    if (child + 1 < n && heap_[child + 1]->timer_ns_ < heap_[child]->timer_ns_) ++child;
    if (moving->timer_ns_ <= heap_[child]->timer_ns_) break;
    put(i, heap_[child]);
    i = child;
  }
  put(i, moving);
}

void TimerHeap::add(Fiber& fiber, TimePoint when) noexcept {
  fiber.timer_ns_ = to_ns(when);
  heap_.push_back(&fiber);
  fiber.timer_index_ = static_cast<std::uint32_t>(heap_.size() - 1);
  up(fiber.timer_index_);
}

void TimerHeap::remove(Fiber& fiber) noexcept {
  const std::uint32_t i = fiber.timer_index_;
  if (i == Fiber::kNoTimer) return;
  fiber.timer_index_ = Fiber::kNoTimer;
  Fiber* const last = heap_.back();
  heap_.pop_back();
  if (last == &fiber) return;
  put(i, last);
  up(i);
  down(last->timer_index_);
}

void TimerHeap::fire_due(TimePoint now) noexcept {
  while (!heap_.empty() && heap_.front()->timer_ns_ <= to_ns(now)) {
    Fiber* const fiber = heap_.front();
    remove(*fiber);
    fiber->fire(Why::timer);
  }
}

}  // namespace sluice::worker
