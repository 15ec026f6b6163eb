#include "worker/io/deadlines.hpp"

#include <algorithm>

#include "worker/io/fiber.hpp"

namespace sluice::worker {

namespace {
constexpr std::int64_t tick_of(std::int64_t ns) noexcept { return ns / Deadlines::kTickNs + 1; }  // rounded up: not early
}  // namespace

// The list is closed at the head by a null `prev` whose owner is the slot; slot_tick_ != 0 tells that a fiber hangs.
void Deadlines::link(Fiber& fiber, std::int64_t tick) noexcept {
  tick = std::clamp(tick, tick_ + 1, tick_ + kSlots - 1);
  Slot& slot = slots_[static_cast<std::size_t>(tick % kSlots)];
  fiber.slot_tick_ = tick;
  fiber.wheel_prev_ = nullptr;
  fiber.wheel_next_ = slot.first;
  if (slot.first != nullptr) slot.first->wheel_prev_ = &fiber;
  slot.first = &fiber;
}

void Deadlines::unlink(Fiber& fiber) noexcept {
  Slot& slot = slots_[static_cast<std::size_t>(fiber.slot_tick_ % kSlots)];
  if (fiber.wheel_prev_ != nullptr)
    fiber.wheel_prev_->wheel_next_ = fiber.wheel_next_;
  else
    slot.first = fiber.wheel_next_;
  if (fiber.wheel_next_ != nullptr) fiber.wheel_next_->wheel_prev_ = fiber.wheel_prev_;
  fiber.wheel_prev_ = fiber.wheel_next_ = nullptr;
  fiber.slot_tick_ = 0;
}

void Deadlines::place(Fiber& fiber) noexcept {
  const std::int64_t tick = tick_of(fiber.deadline_ns_);
  if (fiber.slot_tick_ != 0) {
    if (fiber.slot_tick_ <= tick) return;  // looked at before that anyway
    unlink(fiber);
  }
  link(fiber, tick);
}

void Deadlines::remove(Fiber& fiber) noexcept {
  if (fiber.slot_tick_ != 0) unlink(fiber);
}

void Deadlines::sweep(TimePoint now) noexcept {
  const std::int64_t last = to_ns(now) / kTickNs;
  while (tick_ < last) {
    ++tick_;
    Slot& slot = slots_[static_cast<std::size_t>(tick_ % kSlots)];
    // A fiber that is moved on lands in a later slot (link clamps to tick_ + 1 and up), so this ends.
    while (Fiber* fiber = slot.first) {
      unlink(*fiber);
      if (fiber->deadline_ns_ == Fiber::kNever) continue;
      if (fiber->deadline_ns_ <= to_ns(now)) {
        fiber->deadline_ns_ = Fiber::kNever;
        fiber->fire(Why::deadline);
      } else {
        link(*fiber, tick_of(fiber->deadline_ns_));
      }
    }
  }
}

}  // namespace sluice::worker
