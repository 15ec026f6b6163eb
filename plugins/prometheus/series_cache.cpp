#include "plugins/prometheus/series_cache.hpp"

#include <exception>

namespace sluice::plugins::prometheus {

void SeriesCache::add(const shm::Key& key, const RequestSeries& series) noexcept {
  try {
    if (entries_.size() >= kMaxEntries) entries_.clear();
    entries_.insert_or_assign(key, series);
  } catch (const std::exception&) {
    // Found in the catalogue again the next time.
  }
}

}  // namespace sluice::plugins::prometheus
