// One request that walks through a picker.
#pragma once

#include <string>
#include <vector>

#include "plugins/sdk/request_context.hpp"
#include "worker/balancer/picker.hpp"

namespace sluice::balancer::test {

struct Request {
  explicit Request(std::uint32_t size, TimePoint now = from_ns(1'000'000'000'000)) {
    ctx.now = now;
    tried.prepare(size, ctx.arena);
  }
  std::uint32_t pick(Picker& picker) {
    Walk walk{ctx, tried, cursor, first};
    const std::uint32_t node = picker.pick(walk);
    first = false;
    if (node != kNoPeer) tried.mark(node);
    return node;
  }
  sdk::RequestContext ctx;
  TriedSet tried;
  std::uint32_t cursor = 0;
  bool first = true;
};

inline std::vector<Peer> peers(std::initializer_list<std::uint32_t> weights) {
  std::vector<Peer> all;
  for (const std::uint32_t w : weights) all.push_back({"127.0.0.1:" + std::to_string(1980 + all.size()), w});
  return all;
}

inline std::uint32_t pick_once(Picker& picker, std::uint32_t size) { return Request(size).pick(picker); }

}  // namespace sluice::balancer::test
