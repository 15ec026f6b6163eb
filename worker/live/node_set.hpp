// NodeSet: the nodes an upstream has right now, by priority group, each group with its picker.
//
// An entry is one configured node. A name that resolves to several addresses gives an entry several nodes; round robin
// takes one of them at random at each pick, the other balancers (whose state hangs on an address) keep to one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/sdk/ref.hpp"
#include "worker/balancer/picker.hpp"
#include "worker/balancer/random.hpp"
#include "worker/live/node.hpp"

namespace sluice::live {

struct NodeSet : sdk::RefCounted {
  struct Entry {
    std::uint32_t first = 0;   // in `nodes`
    std::uint32_t count = 1;
  };
  struct Group {
    int priority = 0;
    std::vector<Entry> entries;
    std::unique_ptr<balancer::Picker> picker;   // null: one entry and nothing to count
  };
  std::vector<Node> nodes;
  std::vector<Group> groups;   // highest priority first
  std::uint32_t entries = 0;   // of all groups
  mutable balancer::Random random{0};  // which address of an entry
};

}  // namespace sluice::live
