// BusNames: which host names must be kept fresh, and for whom.
//
// A name is wanted while an object in force mentions it, or a worker that asked for it is connected. Objects come and
// go with their names counted (BusState); a worker's wish for a name that objects mention ends with those objects.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "admin/bus/bus_state.hpp"
#include "admin/dns/name_source.hpp"
#include "worker/live/change.hpp"

namespace sluice::admin {

class BusNames {
 public:
  explicit BusNames(NameSource* source) : source_(source) {}

  // Names in these changes that have no answer yet. Their lookup has begun.
  std::vector<std::string> unsettled(const std::vector<live::Change>& changes);
  // Those of `names` that still have none.
  void drop_settled(std::vector<std::string>& names) const;

  void edit(const BusState::NameEdits& edits, const BusState& state);

  // A worker (any address that stands for it) asks. False when it asks for too many.
  bool ask(const void* worker, const std::string& name);
  void worker_left(const void* worker);

  std::vector<std::string> wanted() const;
  const NameAnswer* answer(const std::string& name) const { return source_ ? source_->answer(name) : nullptr; }

 private:
  NameSource* source_;  // may be nullptr: nothing is ever looked up
  std::set<std::string> mentioned_;
  std::map<std::string, std::set<const void*>> asked_;
};

}  // namespace sluice::admin
