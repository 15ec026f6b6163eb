// Small JSON texts without building a document.
#pragma once

#include <string>
#include <string_view>

#include "plugins/sdk/arena.hpp"

namespace sluice::sdk {

// `{"<member>":"<text>"}` and a newline: the bodies of most refusals. Made when a configuration is compiled.
std::string json_line(std::string_view member, std::string_view text);

// The same in a request's arena, for texts that are known only then.
std::string_view json_line(Arena& arena, std::string_view member, std::string_view text) noexcept;

// `text` as a JSON string with its quotes. Octets that are no UTF-8 pass as they are.
std::string_view json_string(Arena& arena, std::string_view text) noexcept;

}  // namespace sluice::sdk
