// Undoing a Content-Encoding of a body that a plugin holds whole.
#pragma once

#include <cstddef>
#include <string_view>

#include "plugins/sdk/arena.hpp"

namespace sluice::sdk {

enum class Coding : unsigned char { identity, gzip, deflate, unknown };

Coding coding_of(std::string_view content_encoding) noexcept;

// What the octets decode to, at most `max` of it, in the arena. A broken stream gives what was good of it.
// REQUIRES: gzip or deflate (with or without the zlib wrapper).
std::string_view inflate(Arena& arena, Coding coding, std::string_view octets, std::size_t max) noexcept;

}  // namespace sluice::sdk
