// Watches the shared dictionaries for being too small: living entries that were evicted to make room, and entries that
// could not be admitted because nothing may be evicted.
//
// The counters are shared and outlive this process; what they say at the first look is the past. A dictionary is told at
// most once a minute; what happens between two warnings is summed up in the later one. The admin process looks every
// second: a sum over the shards, without a lock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/clock.hpp"
#include "shm/catalog.hpp"

namespace sluice::admin {

class FullDictionaries {
 public:
  static constexpr auto kBetweenWarnings = seconds(60);

  // `key_of`: where config.yaml gives a dictionary's size.
  explicit FullDictionaries(std::function<std::string(std::string_view name)> key_of) : key_of_(std::move(key_of)) {}

  // The warnings that are due, one for each dictionary.
  std::vector<std::string> look(const std::vector<shm::NamedStats>& all, TimePoint now);

 private:
  struct Told {
    std::uint64_t evictions = 0, refused = 0;   // counters as of the last warning
    std::optional<TimePoint> at;
  };

  std::string warning(const shm::NamedStats& dict, const Told& told) const;

  std::function<std::string(std::string_view)> key_of_;
  std::map<std::string, Told, std::less<>> told_;
};

}  // namespace sluice::admin
