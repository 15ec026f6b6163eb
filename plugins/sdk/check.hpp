// The steps of checking and compiling one plugin's configuration. Private to plugins/sdk/check*.cpp and their tests.
#pragma once

#include <string>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "plugins/sdk/plugin.hpp"

namespace sluice::sdk {

// `_meta` of a configuration: the message of what is wrong with its shape, or empty.
std::string check_meta_shape(const Json& meta);
// REQUIRES: check_meta_shape found nothing.
Result<Meta> compile_meta(const Json& meta, std::string_view plugin);
// Strings `$env://NAME` and `$env://NAME/member` anywhere below become the environment's text; what is not set stays.
void resolve_environment(Json& value, JsonDoc::AllocatorType& alloc);

}  // namespace sluice::sdk
