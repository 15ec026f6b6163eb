// A generation's settings from the node file, and what they ask of the machine. Pure but for the CPU mask.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conf/base/result.hpp"
#include "conf/node_config.hpp"
#include "master/listeners.hpp"
#include "master/paths.hpp"
#include "master/supervisor.hpp"
#include "shm/catalog.hpp"

namespace sluice::master {

Result<conf::NodeConfig> load_checked(const std::string& config_file);   // and what this build cannot start with

// Paths of the node file as the children reach them; also the data and run folders.
void place_paths(conf::NodeConfig& node, const Paths& paths);

std::vector<ListenWish> wanted_listeners(const conf::NodeConfig& node);
std::vector<shm::DictSize> wanted_dictionaries(const conf::NodeConfig& node, std::vector<std::string>& warnings);

// Workers and their CPUs. Error: a listed CPU lies outside the affinity mask.
Result<Generation> make_generation(conf::NodeConfig node, std::string admin_key);

}  // namespace sluice::master
