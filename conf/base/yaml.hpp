// YAML as JSON: one document of the JSON-like part of YAML becomes a JsonDoc.
//
// Plain scalars are typed as in the core schema (null, true/false, integers, floats), quoted ones are strings. Aliases
// are expanded, but what they expand to is counted: a bomb of aliases, a self-reference or deep nesting is an error, as
// are merge keys and octets that are not UTF-8. Of equal keys the last wins. No exception escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"

namespace sluice {

struct YamlLimits {
  std::size_t max_bytes = 64u << 20;
  unsigned max_depth = 64;
  std::size_t max_values = 4'000'000;
};

// Line (from 1) of each member and item by path: "apisix.node_listen", "apisix.node_listen.0".
using YamlLines = std::unordered_map<std::string, int>;

Result<JsonDoc> parse_yaml(std::string_view text, const YamlLimits& limits = {}, YamlLines* lines = nullptr);

}  // namespace sluice
