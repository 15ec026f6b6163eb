// References between objects: does what is named exist, and who names what is to be deleted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/api/answers.hpp"
#include "admin/store/image.hpp"
#include "conf/model/kinds.hpp"

namespace sluice::admin {

// The message for the first reference of `value` that leads nowhere, or an empty text. `id`: of the object itself.
std::string missing_reference(const Image& image, conf::Kind kind, std::string_view id, const Json& value);

// Whoever refers to the object, as the messages name them: "route [1]", "plugin in global_rules [2]".
std::vector<std::string> referrers(const Image& image, conf::Kind kind, std::string_view id);

// The refusal to delete an object that is in use, or nothing (status 0). All referrers are listed in `references`.
Refusal refuse_delete(const Image& image, conf::Kind kind, std::string_view id);

}  // namespace sluice::admin
