// Route: what decides whether a request belongs to a route. Immutable once in a table, but for the inherited hosts.
//
// Exchanges hold it (through the compiled route) as long as they refer to its texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/cidr.hpp"
#include "plugins/sdk/expression.hpp"
#include "plugins/sdk/ref.hpp"
#include "worker/router/pattern.hpp"

namespace sluice::router {

// Host patterns, lower-cased, each once. Shared by the routes that inherit them from one service.
struct HostList : sdk::RefCounted {
  explicit HostList(const std::vector<std::string>& patterns);
  std::vector<std::string> patterns;
};

inline constexpr std::uint16_t kAnyMethod = 0xffff;
// Bit of one of the ten methods that conditions may name; 0 for others.
std::uint16_t method_bit(std::string_view method) noexcept;
// Bits of a list; an empty list is kAnyMethod.
std::uint16_t method_mask(const std::vector<std::string>& methods) noexcept;

struct Route;

// One path pattern of a route: what the trees point to.
struct Candidate {
  Candidate(const Route& r, std::uint32_t i, std::string_view text, bool parameters)
      : route(&r), index(i), pattern(text, parameters) {}
  const Route* route;
  std::uint32_t index;     // among the route's patterns
  Pattern pattern;
};

struct Route : sdk::RefCounted {
  std::string id;
  std::int64_t priority = 0;
  std::uint64_t created = 0;                // with id: the order among equals
  std::uint16_t methods = kAnyMethod;
  bool has_vars = false;
  bool has_filter = false;                  // filter_func: no script engine in this build, never true
  CidrSet addresses;                        // empty: any
  sdk::Expression vars;
  sdk::Ref<const HostList> hosts;           // null: any
  std::vector<Candidate> candidates;        // filled once by set_patterns(): the trees point into it
  void* owner = nullptr;                    // of the tables that hold the route

  void set_patterns(const std::vector<std::string>& uris, bool parameters);
};

// Order inside one group of candidates: priority, longer pattern, then the stored key of the route.
bool goes_before(const Candidate& a, const Candidate& b) noexcept;

}  // namespace sluice::router
