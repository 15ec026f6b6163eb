// Dates of HTTP and of cookies: printed into the arena, and read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plugins/sdk/arena.hpp"

namespace sluice::sdk {

// "Thu, 18-Nov-10 11:27:35 GMT", the form of a cookie's Expires that clients have always known.
std::string_view cookie_date(Arena& arena, std::int64_t unix_seconds) noexcept;

// "Tue, 19 Jan 2021 11:33:20 GMT" (IMF-fixdate); nothing for other texts.
std::optional<std::int64_t> parse_http_date(std::string_view text) noexcept;

}  // namespace sluice::sdk
