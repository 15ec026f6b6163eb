// `sluice -t` beyond the node file: the resource file of a file provider, object by object.
#pragma once

#include <string>

#include "conf/base/result.hpp"
#include "conf/node_config.hpp"

namespace sluice::master {

// The file of a file provider, below config_dir.
std::string resource_file(const conf::NodeConfig& node, const std::string& config_dir);

// Nothing to do for the embedded store. Error: the first object that no worker could use, and how many there are.
Result<void> check_resource_file(const conf::NodeConfig& node, const std::string& config_dir);

}  // namespace sluice::master
