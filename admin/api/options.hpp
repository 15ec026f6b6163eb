// What the Admin API must know of the node file, as plain values (run_admin fills it in; tests write it down).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conf/base/cidr.hpp"

namespace sluice::admin {

struct AdminKey {
  std::string name;
  std::string key;
  std::string role;  // "viewer" may only read; every other value has full access
};

struct ApiOptions {
  bool key_required = true;
  std::optional<std::vector<AdminKey>> keys;  // nothing: no list is configured, everything is allowed
  std::optional<CidrSet> allow;               // nothing: everybody; an empty set: nobody
  bool cors = true;
  bool stream_mode = false;
  bool encrypt_fields = true;      // secret fields of plugins
  std::string prefix = "/apisix";  // of `key` in answers
  std::uint64_t max_body = 1572864;
};

}  // namespace sluice::admin
