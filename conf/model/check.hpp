// Validation of objects, with the messages that clients of the Admin API compare literally.
//
// Three steps, because others stand between them (references, plugins): before the schema, the schema, after it. Each
// returns the whole message, or an empty text. What needs other objects (references, duplicates) or the plugins is not
// decided here.
#pragma once

#include <string>
#include <string_view>

#include "conf/base/json.hpp"
#include "conf/model/kinds.hpp"

namespace sluice::conf {

struct CheckOptions {
  bool from_admin = true;   // false: from a file or the store, where bare IPv6 nodes are accepted
  std::string_view manager; // of a secret
  // Turns an encrypted private key into PEM, when it can: `key` of an ssl may be cipher text. Empty function: never.
  std::string (*decrypt_key)(std::string_view text) = nullptr;
};

// host and hosts, remote_addr and remote_addrs; Lua fields that cannot run.
std::string check_before_schema(Kind kind, const Json& value);

// The schema alone; no prefix. Fills defaults into `value` when asked.
std::string check_schema(Kind kind, Json& value, JsonDoc::AllocatorType& alloc, bool fill_defaults,
                         const CheckOptions& options = {});

// Cross-field rules: nodes, chash keys, pass_host, certificates, proto content, addresses. `value` passed the schema
// (with or without defaults filled in).
std::string check_after_schema(Kind kind, const Json& value, const CheckOptions& options = {});

// All three, the schema's message prefixed by "invalid configuration: ".
std::string check_all(Kind kind, Json& value, JsonDoc::AllocatorType& alloc, bool fill_defaults,
                      const CheckOptions& options = {});

}  // namespace sluice::conf
