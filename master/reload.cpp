// The reload part of the supervisor: a transaction that can fail without harm.
//
// HUP → the node file is read and checked, listeners are opened (all or nothing) → the old admin process leaves → new
// admin and new workers start → all new workers serve → the old ones drain. A second HUP meanwhile is remembered.
#include <signal.h>

#include <algorithm>

#include "conf/base/log.hpp"
#include "master/supervisor.hpp"

namespace sluice::master {

namespace {
constexpr auto kAdminLeave = seconds(5);
constexpr std::uint64_t kDrainingAtLeisure = 2;   // generations
}  // namespace

void Supervisor::begin_reload(TimePoint now) {
  Result<Generation> next = hooks_.reload();
  if (!next) {
    log::error("master: reload refused, the old configuration serves on: " + next.error().message());
    return;
  }
  previous_ = std::move(current_);
  current_ = std::move(*next);
  current_.number = previous_->number + 1;
  turn_ = Turn::admin_leaving;
  turn_deadline_ = now + ready_limit_;
  no_new_workers_ = false;
  for (auto& child : children_)
    if (child->kind == Kind::admin) leave(*child, SIGQUIT, kAdminLeave, now);
  log::notice("master: reloading, generation " + std::to_string(current_.number));
}

void Supervisor::add_generation(TimePoint now) {
  const auto add = [&](Kind kind, int index) {
    auto child = std::make_unique<Child>();
    child->kind = kind;
    child->index = index;
    child->generation = current_.number;
    child->start_at = now;
    children_.push_back(std::move(child));
  };
  add(Kind::admin, 0);
  for (int i = 0; i < current_.workers; ++i) add(Kind::worker, i);
}

void Supervisor::advance_reload(TimePoint now) {
  if (turn_ == Turn::none || mode_ != Mode::running) return;
  if (turn_ == Turn::admin_leaving) {
    std::erase_if(children_, [](const auto& c) { return c->leaving && c->pid == 0; });
    const bool gone = std::none_of(children_.begin(), children_.end(), [](const auto& c) {
      return c->kind == Kind::admin && c->pid > 0;
    });
    if (!gone) return;
    turn_ = Turn::starting;
    turn_deadline_ = now + ready_limit_;
    add_generation(now);
    return;
  }
  if (all_ready(current_.number)) {
    finish_reload(now);
  } else if (now >= turn_deadline_) {
    abandon_reload(now);
  }
}

void Supervisor::finish_reload(TimePoint now) {
  turn_ = Turn::none;
  listeners_.settle();
  if (previous_ && hooks_.on_taken_over) hooks_.on_taken_over(current_);
  for (auto& child : children_)
    if (child->generation != current_.number && !child->leaving) leave(*child, SIGQUIT, shutdown_patience(), now);
  hurry_older();
  std::erase_if(children_, [](const auto& c) { return c->leaving && c->pid == 0; });
  if (previous_) log::notice("master: generation " + std::to_string(current_.number) + " serves");
  previous_.reset();
  if (!announced_) {
    announced_ = true;
    if (hooks_.on_ready) hooks_.on_ready();
  }
  if (std::exchange(reload_again_, false)) begin_reload(now);
}

// Idle clients would keep a draining worker until its deadline, and frequent reloads would pile up such workers. Only the
// latest generations may wait for a next request; in older ones only what is under way goes on.
void Supervisor::hurry_older() {
  for (auto& child : children_) {
    if (!child->leaving || child->hurried || child->kind != Kind::worker || child->pid <= 0) continue;
    if (child->generation + kDrainingAtLeisure >= current_.number) continue;
    kill(child->pid, SIGQUIT);
    child->hurried = true;
  }
}

void Supervisor::abandon_reload(TimePoint now) {
  if (!previous_) {
    // The very first generation: there is nothing to go back to, so the supervisor goes on trying.
    log::alert("master: not all workers serve in time");
    turn_deadline_ = now + ready_limit_;
    return;
  }
  log::alert("master: generation " + std::to_string(current_.number) +
             " did not come to serve in time; its workers are stopped and the old ones serve on");
  for (auto& child : children_)
    if (child->kind == Kind::worker && child->generation == current_.number) leave(*child, SIGTERM, kAdminLeave, now);
  for (auto& child : children_)
    if (child->kind == Kind::worker && child->generation == previous_->number) child->leaving = false;
  // The admin process has the abandoned settings, too: it makes room for one that has those in force.
  for (auto& child : children_) {
    if (child->kind != Kind::admin || child->leaving) continue;
    child->generation = previous_->number;
    if (child->pid <= 0) continue;
    kill(child->pid, SIGQUIT);
    child->kill_at = now + kAdminLeave;
  }
  listeners_.restore();
  current_ = std::move(*previous_);
  previous_.reset();
  turn_ = Turn::none;
  reload_again_ = false;
}

}  // namespace sluice::master
