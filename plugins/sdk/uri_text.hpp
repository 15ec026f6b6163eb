// Making texts fit for a request target or a field value. All return the given view when there is nothing to change.
#pragma once

#include <string_view>

#include "plugins/sdk/arena.hpp"

namespace sluice::sdk {

// A path: blanks, `"#%<>?\^`{|}`, control octets and those above 0x7e become %XX (upper case); `/` stays.
std::string_view escape_path(Arena& arena, std::string_view path) noexcept;

// A query or a target that is already encoded: only what would break the request line (blanks, control octets).
std::string_view escape_line_breakers(Arena& arena, std::string_view text) noexcept;

// A field value made from a template: control octets become %XX, blanks and tabs stay.
std::string_view safe_field_value(Arena& arena, std::string_view value) noexcept;

// A request target as the client sent it, without scheme and authority when it came in absolute form.
std::string_view origin_form(std::string_view target) noexcept;

// The query without every argument of that (decoded) name; the others stay as they were sent.
std::string_view without_argument(Arena& arena, std::string_view query, std::string_view name) noexcept;

}  // namespace sluice::sdk
