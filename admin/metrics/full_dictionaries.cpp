#include "admin/metrics/full_dictionaries.hpp"

namespace sluice::admin {

std::vector<std::string> FullDictionaries::look(const std::vector<shm::NamedStats>& all, TimePoint now) {
  std::vector<std::string> due;
  for (const shm::NamedStats& dict : all) {
    const auto [entry, first] = told_.try_emplace(std::string(dict.name));
    Told& told = entry->second;
    const bool grown = dict.stats.evictions > told.evictions || dict.stats.refused > told.refused;
    if (first || !grown) {
      told.evictions = dict.stats.evictions;
      told.refused = dict.stats.refused;
      continue;
    }
    if (told.at && now - *told.at < kBetweenWarnings) continue;
    due.push_back(warning(dict, told));
    told = {dict.stats.evictions, dict.stats.refused, now};
  }
  return due;
}

std::string FullDictionaries::warning(const shm::NamedStats& dict, const Told& told) const {
  const std::uint64_t evicted = dict.stats.evictions - told.evictions;
  const std::uint64_t refused = dict.stats.refused - told.refused;
  std::string text = "shared dictionary " + std::string(dict.name) + " is full (" + std::to_string(dict.stats.entries) +
                     " of " + std::to_string(dict.stats.capacity) + " entries): ";
  if (evicted != 0) text += std::to_string(evicted) + " living entries were evicted";
  if (evicted != 0 && refused != 0) text += ", ";
  if (refused != 0) text += std::to_string(refused) + " could not be admitted";
  return text + "; raise " + key_of_(dict.name) + " in config.yaml";
}

}  // namespace sluice::admin
