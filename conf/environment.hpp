// ${{NAME}} and ${{NAME:=default}} in configuration files.
//
// In parsed documents (config.yaml, apisix.json) keys and string values are replaced, and a value that used a variable
// becomes a number or a boolean when it looks like one. In texts (apisix.yaml) the replacement happens before parsing,
// so that quoting decides the type.
#pragma once

#include <string>
#include <string_view>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "conf/node_config.hpp"

namespace sluice::conf {

// Error: "can't find environment variable <NAME>".
Result<std::string> substitute_text(std::string_view text, const Environment& env, bool* used = nullptr);
Result<void> substitute_values(Json& value, JsonDoc::AllocatorType& alloc, const Environment& env);

}  // namespace sluice::conf
