// The forms of identifier that request-id can make. All are unique by chance: drawn from the process's generator.
#pragma once

#include <string_view>

#include "plugins/sdk/request_context.hpp"

namespace sluice::plugins::request_id {

std::string_view make_uuid(sdk::RequestContext& ctx) noexcept;    // version 4
std::string_view make_uuidv7(sdk::RequestContext& ctx) noexcept;  // 48 bits of milliseconds, so that ids sort by time
std::string_view make_nanoid(sdk::RequestContext& ctx) noexcept;  // 21 of 64 characters
std::string_view make_ksuid(sdk::RequestContext& ctx) noexcept;   // 27 base-62 digits, sorted by the second
// `length` characters drawn from `set`. REQUIRES: set is not empty.
std::string_view make_range(sdk::RequestContext& ctx, std::string_view set, std::size_t length) noexcept;

}  // namespace sluice::plugins::request_id
