// See ack_waits.hpp.
#include "admin/bus/ack_waits.hpp"

#include <utility>

namespace sluice::admin {

void AckWaits::add(std::uint64_t sequence, TimePoint deadline, OnApplied done) {
  waits_.push_back({sequence, deadline, std::move(done)});
}

void AckWaits::settle(const Workers& workers, TimePoint now) {
  std::erase_if(lagging_, [&](const LiveWorker& worker) { return !workers.contains(worker); });
  std::vector<std::pair<OnApplied, Applied>> answered;
  while (!waits_.empty()) {
    Wait& wait = waits_.front();
    Applied result{0, static_cast<unsigned>(workers.size())};
    bool waiting = false;
    for (const auto& [worker, acknowledged] : workers) {
      if (acknowledged >= wait.sequence) ++result.applied;
      else if (!lagging_.contains(worker)) waiting = true;
    }
    if (waiting && now < wait.deadline) break;
    if (waiting) {
      for (const auto& [worker, acknowledged] : workers)
        if (acknowledged < wait.sequence) lagging_.insert(worker);
    }
    answered.emplace_back(std::move(wait.done), result);
    waits_.pop_front();
  }
  for (auto& [done, result] : answered)
    if (done) done(result);
}

}  // namespace sluice::admin
