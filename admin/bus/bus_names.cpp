// See bus_names.hpp.
#include "admin/bus/bus_names.hpp"

#include "admin/bus/upstream_names.hpp"

namespace sluice::admin {

namespace {
constexpr std::size_t kMaxAsked = 20000;
}

std::vector<std::string> BusNames::unsettled(const std::vector<live::Change>& changes) {
  std::vector<std::string> names;
  if (!source_) return names;
  for (const live::Change& change : changes) {
    if (change.removed) continue;
    for (std::string& name : upstream_names(change.json)) {
      source_->want(name);
      if (!source_->answer(name)) names.push_back(std::move(name));
    }
  }
  return names;
}

void BusNames::drop_settled(std::vector<std::string>& names) const {
  std::erase_if(names, [&](const std::string& name) { return source_->answer(name) != nullptr; });
}

void BusNames::edit(const BusState::NameEdits& edits, const BusState& state) {
  if (!source_) return;
  for (const std::string& name : edits.wanted)
    if (mentioned_.insert(name).second) source_->want(name);
  for (const std::string& name : edits.unwanted) {
    if (state.mentions(name) || mentioned_.erase(name) == 0) continue;
    asked_.erase(name);
    source_->unwant(name);
  }
}

bool BusNames::ask(const void* worker, const std::string& name) {
  if (!source_) return true;
  if (asked_.size() >= kMaxAsked && !asked_.contains(name)) return false;
  asked_[name].insert(worker);
  source_->want(name);
  return true;
}

void BusNames::worker_left(const void* worker) {
  for (auto it = asked_.begin(); it != asked_.end();) {
    it->second.erase(worker);
    if (!it->second.empty()) {
      ++it;
      continue;
    }
    if (!mentioned_.contains(it->first)) source_->unwant(it->first);
    it = asked_.erase(it);
  }
}

std::vector<std::string> BusNames::wanted() const {
  std::vector<std::string> all(mentioned_.begin(), mentioned_.end());
  for (const auto& [name, workers] : asked_)
    if (!mentioned_.contains(name)) all.push_back(name);
  return all;
}

}  // namespace sluice::admin
