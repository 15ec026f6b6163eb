// Lists of addresses and ranges in plugin configurations: the schema of an item, and the check that it is one.
#pragma once

#include <string>
#include <string_view>

#include "conf/base/json.hpp"
#include "conf/schema/schema.hpp"

namespace sluice::sdk {

// Looks like an address, or like an address and a number of bits. What passes here and is no range all the same
// (`::1/129`) gets the message of check_addresses.
schema::Node address_field();

// "" or `invalid ip address: <text>` for the member `name` of `conf`, a list.
std::string check_addresses(const Json& conf, std::string_view name);

}  // namespace sluice::sdk
