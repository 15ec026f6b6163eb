// The Admin API key: ADMIN_KEY in the environment, else the node file's, else one made at the first start.
//
// A made key is kept 0600 in the data folder and printed once, when it is made. There is no well-known key.
#pragma once

#include <string>

#include "conf/base/result.hpp"

namespace sluice::master {

struct AdminKey {
  std::string key;
  bool made_now = false;
  std::string file;       // where a made key is kept; empty when it came from elsewhere
};

Result<AdminKey> effective_admin_key(const char* environment, const std::string& configured,
                                     const std::string& data_dir);

}  // namespace sluice::master
