// From validated JSON to C++ values: read_value(json, out) for the types that configuration structs are made of.
//
// A struct or enum of your own gets an overload in its own namespace (found by ADL), returning void, bool (false: not
// one of ours), Result<void> or nothing said wrong. Values were validated before; what can still fail is range
// (an integer that does not fit) and kinds that the schema left open.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "conf/schema/json_copy.hpp"

namespace sluice::schema {

template <class T>
Result<void> read_into(const Json& value, T& out);

inline Error unexpected(const Json& value, const char* expected) {
  return invalid(std::string("wrong type: expected ") + expected + ", got " + type_name(value));
}

inline Result<void> read_value(const Json& value, bool& out) {
  if (!value.IsBool()) return unexpected(value, "boolean");
  out = value.GetBool();
  return {};
}

inline Result<void> read_value(const Json& value, double& out) {
  if (!value.IsNumber()) return unexpected(value, "number");
  out = value.GetDouble();
  return {};
}

template <class Int>
  requires(std::integral<Int> && !std::same_as<Int, bool>)
Result<void> read_value(const Json& value, Int& out) {
  if (!value.IsNumber()) return unexpected(value, "integer");
  if (value.IsInt64() && std::in_range<Int>(value.GetInt64())) {
    out = static_cast<Int>(value.GetInt64());
    return {};
  }
  if (value.IsUint64() && std::in_range<Int>(value.GetUint64())) {
    out = static_cast<Int>(value.GetUint64());
    return {};
  }
  const double d = value.GetDouble();
  const bool whole = value.IsDouble() && std::floor(d) == d;
  // 2^63 and 2^64 are exact in a double; the largest Int itself is not.
  const double top = std::ldexp(1.0, std::numeric_limits<Int>::digits);
  if (!whole || d >= top || d < static_cast<double>(std::numeric_limits<Int>::min()))
    return invalid(number_text(d) + " is not an integer in the range of this field");
  out = static_cast<Int>(d);
  return {};
}

inline Result<void> read_value(const Json& value, std::string& out) {
  if (!value.IsString()) return unexpected(value, "string");
  out.assign(value.GetString(), value.GetStringLength());
  return {};
}

inline Result<void> read_value(const Json& value, JsonCopy& out) {
  out = JsonCopy(value);
  return {};
}

inline Result<void> read_value(const Json& value, std::variant<std::int64_t, std::string>& out) {
  if (value.IsString()) {
    out = std::string(value.GetString(), value.GetStringLength());
    return {};
  }
  std::int64_t number = 0;
  if (auto read = read_value(value, number); !read) return read;
  out = number;
  return {};
}

inline Result<void> read_value(const Json& value, std::variant<double, std::string>& out) {
  if (value.IsString()) {
    out = std::string(value.GetString(), value.GetStringLength());
    return {};
  }
  double number = 0;
  if (auto read = read_value(value, number); !read) return read;
  out = number;
  return {};
}

template <class T>
Result<void> read_value(const Json& value, std::optional<T>& out) {
  T inner{};
  if (auto read = read_into(value, inner); !read) return read;
  out = std::move(inner);
  return {};
}

template <class T>
Result<void> read_value(const Json& value, std::vector<T>& out) {
  out.clear();
  if (!value.IsArray()) return value.IsObject() && value.ObjectEmpty() ? Result<void>() : unexpected(value, "array");
  out.reserve(value.Size());
  for (const auto& item : value.GetArray()) {
    T inner{};
    if (auto read = read_into(item, inner); !read) return read;
    out.push_back(std::move(inner));
  }
  return {};
}

// An object in the order of the document.
template <class T>
Result<void> read_value(const Json& value, std::vector<std::pair<std::string, T>>& out) {
  out.clear();
  if (!value.IsObject()) return value.IsArray() && value.Empty() ? Result<void>() : unexpected(value, "object");
  for (const auto& m : value.GetObject()) {
    T inner{};
    if (auto read = read_into(m.value, inner); !read) return read;
    out.emplace_back(std::string(text_of(m.name)), std::move(inner));
  }
  return {};
}

template <class T>
Result<void> read_value(const Json& value, std::map<std::string, T>& out) {
  out.clear();
  if (!value.IsObject()) return value.IsArray() && value.Empty() ? Result<void>() : unexpected(value, "object");
  for (const auto& m : value.GetObject()) {
    T inner{};
    if (auto read = read_into(m.value, inner); !read) return read;
    out.insert_or_assign(std::string(text_of(m.name)), std::move(inner));
  }
  return {};
}

template <class T>
Result<void> read_into(const Json& value, T& out) {
  using Returned = decltype(read_value(value, out));
  if constexpr (std::is_void_v<Returned>) {
    read_value(value, out);
    return {};
  } else if constexpr (std::is_same_v<Returned, bool>) {
    if (!read_value(value, out)) return invalid("unexpected value " + to_json(value));
    return {};
  } else {
    return read_value(value, out);
  }
}

}  // namespace sluice::schema
