// The seam between those who change the configuration (Admin API, standalone file) and those who carry it to the
// workers (the config bus; a stand-in in tests). Main thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "worker/live/change.hpp"

namespace sluice::admin {

class ChangeSink {
 public:
  virtual ~ChangeSink() = default;

  // How many workers had put the batch in force, of how many that are live, when it was time to answer.
  using Applied = std::function<void(unsigned applied, unsigned workers)>;

  // Carries one batch, in order. `done` is called once: when every live worker has acknowledged, or after a bounded
  // wait.
  virtual void publish(std::uint64_t revision, std::vector<live::Change> batch, Applied done) = 0;

  // Tells the workers that the list of enabled plugins has changed; JSON array of names.
  virtual void plugins_changed(const std::string& names_json) = 0;
};

}  // namespace sluice::admin
