// Base64 (RFC 4648), the plain and the URL alphabet.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plugins/sdk/arena.hpp"

namespace sluice::sdk {

// Padding may be missing; everything else must be of the alphabet. Into the arena; nothing when it is no base64.
std::optional<std::string_view> base64_decode(Arena& arena, std::string_view text) noexcept;
std::optional<std::string_view> base64url_decode(Arena& arena, std::string_view text) noexcept;
std::optional<std::string> base64_decode(std::string_view text);

std::string_view base64_encode(Arena& arena, std::string_view octets) noexcept;  // with padding

}  // namespace sluice::sdk
