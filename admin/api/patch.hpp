// PATCH in its two forms: recursive merge, and replacement of the value at a sub-path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"

namespace sluice::admin {

// Objects merge member by member, null deletes, everything else (arrays too) replaces. Depth is bounded by the parser.
void merge_patch(Json& target, const Json& patch, JsonDoc::AllocatorType& alloc);

// Replaces what is at `path` (plain member names) by `value`; missing objects on the way are made.
// Error reason: `invalid sub-path: /<path so far>` where something on the way is no object.
Result<void> replace_at(Json& target, const std::vector<std::string>& path, const Json& value,
                        JsonDoc::AllocatorType& alloc);

}  // namespace sluice::admin
