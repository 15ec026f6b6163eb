// BusState: everything that is in force, as the bus has published it, and the batches of the recent past.
//
// The bus keeps its own copy (each object encoded once, shared with frames in flight), so that a snapshot is exactly
// the state at a sequence, whatever the store is doing on its thread. A worker that was away for a moment gets what it
// missed from the ring; one that was away for longer gets a snapshot. Plain data, no I/O.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conf/base/clock.hpp"
#include "worker/live/bus_protocol.hpp"
#include "worker/live/change.hpp"

namespace sluice::admin {

using Octets = std::shared_ptr<const std::string>;

class BusState {
 public:
  struct Limits {
    std::size_t ring_batches = 1024;
    std::size_t ring_bytes = 16u << 20;
  };
  struct Batch {
    live::bus::Position at;
    TimePoint published{};
    std::vector<Octets> frames;
    std::size_t bytes = 0;
  };
  // Names that objects of a batch began or ceased to mention.
  struct NameEdits {
    std::vector<std::string> wanted, unwanted;
  };

  BusState(std::uint64_t epoch, Limits limits) : position_{epoch, 1}, limits_(limits) {}

  // The state at start, before any worker is served: no batch, sequence unchanged.
  NameEdits load(std::uint64_t revision, const std::vector<live::Change>& everything);

  // The next batch. An empty one is a batch too: it moves the sequence.
  const Batch& append(std::uint64_t revision, const std::vector<live::Change>& changes, TimePoint now, NameEdits& names);

  // Changes that turn the state into `everything`: what differs in value, and removals. Indexes alone are no difference.
  std::vector<live::Change> difference(const std::vector<live::Change>& everything) const;

  // All objects, encoded, in an order fit to be applied (what is referred to comes first).
  std::vector<Octets> snapshot() const;

  // Batches after `last`, oldest first; false when the ring does not reach back so far, or `last` is of another life.
  bool missed(const live::bus::Position& last, std::vector<const Batch*>& batches) const;

  // When the batch of that sequence was published, if the ring still knows.
  const Batch* batch(std::uint64_t sequence) const noexcept;

  const live::bus::Position& position() const noexcept { return position_; }
  std::uint64_t revision() const noexcept { return revision_; }
  std::size_t objects() const noexcept { return objects_.size(); }
  bool mentions(const std::string& name) const { return name_uses_.contains(name); }

 private:
  struct Object {
    Octets encoded;
    std::vector<std::string> names;
  };
  using Key = std::pair<std::uint8_t, std::string>;

  Octets apply(const live::Change& change, NameEdits& names);
  void use(const std::vector<std::string>& names, int by, NameEdits& edits);
  void trim();

  live::bus::Position position_;
  std::uint64_t revision_ = 0;
  Limits limits_;
  std::map<Key, Object> objects_;
  std::map<std::string, int> name_uses_;
  std::deque<Batch> ring_;
  std::size_t ring_bytes_ = 0;
};

}  // namespace sluice::admin
