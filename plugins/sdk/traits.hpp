// Traits: what the core must know of a plugin before it runs one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::sdk {

enum class PluginKind : std::uint8_t {
  ordinary,
  auth,     // may attach a consumer; has a consumer schema; never run again from a consumer's own list
};

enum class RunPolicy : std::uint8_t {
  both,          // in a global rule and on the route: runs twice
  prefer_route,  // the global rule's is skipped where the route has it too
};

struct Traits {
  std::string_view name;
  int priority = 0;
  std::string_view version = "0.1";
  PluginKind kind = PluginKind::ordinary;
  RunPolicy run_policy = RunPolicy::both;
  // Body contracts: defaults of the plugin; a compiled value may say less through body_needs() (see plugin.hpp).
  bool alters_length = false;               // body_filter may change the number of octets
};

// What one compiled plugin asks of the core for bodies.
struct BodyNeeds {
  bool request_body = false;                // read before the access phase (rewrite phase when reads_in_rewrite)
  std::size_t request_body_max = 0;         // 0 = no limit of its own (spilled to a file past the node's threshold)
  bool alters_length = false;               // framing is decided before the head is sent
  bool whole_response = false;              // body_filter is called once, with everything (head held back)
  std::size_t whole_response_max = 0;       // past it the body goes on unfiltered
};

}  // namespace sluice::sdk
