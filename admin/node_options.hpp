// From the node file's structs to what the parts of the admin process take.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/api/options.hpp"
#include "admin/process.hpp"
#include "admin/store/keyring.hpp"
#include "conf/base/result.hpp"

namespace sluice::admin {

// The keys with the effective admin key put in: for every admin entry whose key is empty, and for the first admin entry
// when it comes from the environment.
ApiOptions api_options(const AdminStart& start);

// The node's keyring, or the one in the data folder, made at first start.
Result<Keyring> keyring_of(const AdminStart& start);

// Why this node cannot have an admin process as configured; empty when it can.
std::string unsupported(const conf::NodeConfig& node);

// Where the node file gives the size of a dictionary, or would.
std::string shared_dict_key(const conf::NodeConfig& node, std::string_view name);

std::string server_header(const conf::NodeConfig& node);

}  // namespace sluice::admin
