// Picker: chooses one node of a priority group, attempt by attempt.
//
// One picker per upstream and group; it is made when the configuration (or the address behind a name) changes and then
// lives in one worker: no locks. What must be shared by workers (EWMA scores, requests in flight) is in shared memory.
// pick() and settle() run on the request path: noexcept, no allocation. Called by live::Upstream alone.
#pragma once

#include <cstdint>
#include <string>

#include "conf/base/clock.hpp"
#include "worker/balancer/tried.hpp"

namespace sluice::sdk {
class RequestContext;
}

namespace sluice::balancer {

// What a balancer knows of a node.
struct Peer {
  std::string address;        // "127.0.0.1:1980": the identity in rings and in shared memory
  std::uint32_t weight = 1;
};

inline constexpr std::uint32_t kNoPeer = ~std::uint32_t{0};

// How an attempt ended.
struct Outcome {
  bool failed = false;          // the attempt counts as a failure of the node
  bool bad_answer = false;      // it was answered, but with an error (5xx): may not improve what is thought of the node
  bool ignored = false;         // says nothing about the node (the client went away): only what is held is given back
  std::int64_t elapsed_ns = 0;  // connect and answer time of the attempt
};

// One request's way through one group.
struct Walk {
  sdk::RequestContext& request;
  TriedSet& tried;              // by index in the group; the caller marks what pick() returned
  std::uint32_t& cursor;        // the picker's own memory between the attempts of one request
  bool first;                   // no pick was made in this group yet
};

class Picker {
 public:
  Picker() = default;
  Picker(const Picker&) = delete;
  Picker& operator=(const Picker&) = delete;
  virtual ~Picker() = default;

  // Index of the node to try, or kNoPeer when every node has been tried.
  virtual std::uint32_t pick(Walk& walk) noexcept = 0;
  // Exactly once for each index that pick() returned.
  virtual void settle(std::uint32_t, const Outcome&, TimePoint) noexcept {}
};

}  // namespace sluice::balancer
