// The Redis fields of the limiters' schemas: checked here as the reference checks them, used by no policy of this build.
#pragma once

#include <string>
#include <string_view>

#include "conf/schema/schema.hpp"

namespace sluice::sdk {

enum class RedisPolicies : unsigned char { single_and_cluster, with_sentinel };

// Adds if/then/else over `policy`. `key_ttl`: limit-conn's extra field.
schema::Node with_redis_fields(schema::Node node, RedisPolicies policies, bool key_ttl = false);

// What compiling a configuration of such a policy answers.
std::string redis_not_available(std::string_view policy);

}  // namespace sluice::sdk
