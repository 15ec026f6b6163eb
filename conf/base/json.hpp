// JSON as a value. RapidJSON underneath; this header is the only vocabulary the other rooms use for it.
#pragma once

#include <rapidjson/document.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "conf/base/result.hpp"

namespace sluice {

using Json = rapidjson::Value;
using JsonDoc = rapidjson::Document;

struct JsonLimits {
  std::size_t max_bytes = 64u << 20;
  unsigned max_depth = 128;
};

// Parses one JSON text (iterative parser, depth and size bounded, last duplicate member wins, no trailing octets).
// Error: where (line and column) and what was found.
Result<JsonDoc> parse_json(std::string_view text, const JsonLimits& limits = {});

// Offset of the bracket that opens level max_depth + 1, or npos; no parser runs. Brackets inside strings do not count.
std::size_t json_too_deep_at(std::string_view text, unsigned max_depth) noexcept;

std::string to_json(const Json& value);            // compact, members as they stand; integers without a point
std::string canonical_json(const Json& value);     // compact, members sorted by name: input of digests
const Json* find(const Json& object, std::string_view name) noexcept;  // nullptr when absent or not an object
std::string_view text_of(const Json& value) noexcept;                  // string content; empty for other types
const char* type_name(const Json& value) noexcept;  // object array string number boolean null
std::string number_text(double value);              // up to 14 significant digits, no trailing zeros
void set_member(Json& object, std::string_view name, Json value, JsonDoc::AllocatorType& alloc);  // add or replace
// Deep copy. RapidJSON's own CopyFrom shares strings made from literals and references; this one owns all it holds.
Json copy_json(const Json& value, JsonDoc::AllocatorType& alloc);
// Objects merge recursively, a null removes the member, everything else replaces.
void merge_json(Json& into, const Json& from, JsonDoc::AllocatorType& alloc);
// At every depth: of members with equal names the last stays, in the place of the first.
void fold_duplicate_members(Json& value, JsonDoc::AllocatorType& alloc);
bool equal_json(const Json& a, const Json& b) noexcept;  // deep, member order ignored, 1 == 1.0

}  // namespace sluice
