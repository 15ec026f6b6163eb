// Which host names does a stored object send traffic to? Those of every `nodes` inside it: an upstream's own, those of
// an upstream embedded in a route or service, those inside plugin configurations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::admin {

// Lower-cased, sorted, each once; address literals and Unix sockets are none. Text that is no JSON has no names.
std::vector<std::string> upstream_names(std::string_view object_json);

}  // namespace sluice::admin
