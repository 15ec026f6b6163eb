// Digests and keyed digests over OpenSSL, into the request's arena. Empty results mean that OpenSSL refused.
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/sdk/arena.hpp"

namespace sluice::sdk {

enum class Hash : std::uint8_t { sha1, sha256, sha384, sha512 };

std::string_view digest(Arena& arena, Hash hash, std::string_view octets) noexcept;
std::string_view hmac(Arena& arena, Hash hash, std::string_view key, std::string_view octets) noexcept;
std::string_view hex(Arena& arena, std::string_view octets) noexcept;  // lower case

}  // namespace sluice::sdk
