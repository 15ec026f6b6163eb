// Resources as they are held for use: defaults filled in, nodes in array form. For inspection only.
#pragma once

#include <string>

#include "conf/base/json.hpp"
#include "conf/model/kinds.hpp"

namespace sluice::admin {

// JSON text. has_domain: some node is given by name. Private keys are left out.
std::string in_memory_form(conf::Kind kind, const Json& stored, bool& has_domain);

}  // namespace sluice::admin
