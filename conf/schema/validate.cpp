// The validator.
//
// Order of checks, which decides the message when several rules are broken: type; the object's properties in declared
// order (each: default, value, dependencies, presence), other required members, pattern and additional members, their
// number; the array's size, items, uniqueness; string; number; enum and const; allOf, anyOf, oneOf, not, if.
// Depth of recursion is that of the schema, never of the value.
#include <cmath>
#include <string>
#include <unordered_map>

#include "conf/base/cidr.hpp"
#include "conf/base/text.hpp"
#include "conf/schema/schema.hpp"
#include "conf/schema/spec.hpp"

namespace sluice::schema {
namespace {

using Alloc = JsonDoc::AllocatorType;

std::string check(const Node& node, Json& value, Alloc& alloc);

bool is_empty_container(const Json& v) noexcept {
  return (v.IsArray() && v.Empty()) || (v.IsObject() && v.ObjectEmpty());
}

bool has_type(const Json& v, Type type) noexcept {
  switch (type) {
    case Type::object:
      return v.IsObject() || is_empty_container(v);
    case Type::array:
      return v.IsArray() || is_empty_container(v);
    case Type::string:
      return v.IsString();
    case Type::number:
      return v.IsNumber();
    case Type::integer:
      return v.IsNumber() && (!v.IsDouble() || std::floor(v.GetDouble()) == v.GetDouble());
    case Type::boolean:
      return v.IsBool();
    default:
      return v.IsNull();
  }
}

std::string check_type(const Spec& spec, Json& value) {
  if (spec.types.empty()) return {};
  std::string expected;
  for (Type t : spec.types) {
    if (has_type(value, t)) {
      // The reference cannot tell {} from []; give readers the one that was asked for.
      if (t == Type::object && value.IsArray()) value.SetObject();
      if (t == Type::array && value.IsObject()) value.SetArray();
      return {};
    }
    expected += (expected.empty() ? "" : ", ") + std::string(name_of(t));
  }
  const char* got = value.IsObject() || value.IsArray() ? "table" : type_name(value);
  return "wrong type: expected " + std::string(spec.types.size() > 1 ? "one of " : "") + expected + ", got " + got;
}

std::string check_dependency(const Dependency& d, Json& value, Alloc& alloc) {
  for (const auto& needed : d.needed)
    if (find(value, needed) == nullptr) return "property \"" + needed + "\" is required when \"" + d.name + "\" is set";
  if (!d.node) return {};
  const std::string inner = check(*d.node, value, alloc);
  return inner.empty() ? inner : "failed to validate dependent schema for \"" + d.name + "\": " + inner;
}

std::string check_property(const Spec& spec, const Property& p, Json& value, Alloc& alloc) {
  Json* member = const_cast<Json*>(find(value, p.name));
  if (member == nullptr && p.node.spec().default_value) {
    value.AddMember(Json(p.name, alloc), copy_json(*p.node.spec().default_value, alloc), alloc);
    member = &(value.MemberEnd() - 1)->value;
  }
  if (member == nullptr) {
    for (const auto& name : spec.required)
      if (name == p.name) return "property \"" + p.name + "\" is required";
    return {};
  }
  if (std::string inner = check(p.node, *member, alloc); !inner.empty())
    return "property \"" + p.name + "\" validation failed: " + inner;
  for (const auto& d : spec.dependencies)
    if (d.name == p.name)
      if (std::string inner = check_dependency(d, value, alloc); !inner.empty()) return inner;
  return {};
}

bool declares(const Spec& spec, std::string_view name) noexcept {
  for (const auto& p : spec.properties)
    if (p.name == name) return true;
  return false;
}

// Members that no declared property covers.
std::string check_other_members(const Spec& spec, Json& value, Alloc& alloc) {
  if (spec.pattern_properties.empty() && !spec.closed && !spec.additional) return {};
  for (auto& m : value.GetObject()) {
    const std::string_view name = text_of(m.name);
    bool covered = declares(spec, name);
    for (const auto& pp : spec.pattern_properties) {
      if (!pp.regex.search(name)) continue;
      covered = true;
      if (std::string inner = check(pp.node, m.value, alloc); !inner.empty())
        return "failed to validate " + std::string(name) + " (matching \"" + pp.pattern + "\"): " + inner;
    }
    if (covered) continue;
    if (spec.closed) return "additional properties forbidden, found " + std::string(name);
    if (!spec.additional) continue;
    if (std::string inner = check(*spec.additional, m.value, alloc); !inner.empty())
      return "failed to validate additional property " + std::string(name) + ": " + inner;
  }
  return {};
}

std::string check_object(const Spec& spec, Json& value, Alloc& alloc) {
  for (const auto& p : spec.properties)
    if (std::string inner = check_property(spec, p, value, alloc); !inner.empty()) return inner;
  for (const auto& name : spec.required)
    if (!declares(spec, name) && find(value, name) == nullptr) return "property \"" + name + "\" is required";
  for (const auto& d : spec.dependencies)
    if (!declares(spec, d.name) && find(value, d.name) != nullptr)
      if (std::string inner = check_dependency(d, value, alloc); !inner.empty()) return inner;
  if (std::string inner = check_other_members(spec, value, alloc); !inner.empty()) return inner;
  if (spec.min_properties && value.MemberCount() < *spec.min_properties)
    return "expect object to have at least " + std::to_string(*spec.min_properties) + " properties";
  if (spec.max_properties && value.MemberCount() > *spec.max_properties)
    return "expect object to have at most " + std::to_string(*spec.max_properties) + " properties";
  return {};
}

// Scalars are compared before containers, as the reference does; which pair is named depends on it.
std::string check_unique(const Json& value) {
  for (const bool containers : {false, true}) {
    std::unordered_map<std::string, rapidjson::SizeType> seen;
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i) {
      const Json& item = value[i];
      if ((item.IsObject() || item.IsArray()) != containers) continue;
      const auto [it, fresh] = seen.emplace(canonical_json(item), i + 1);
      if (!fresh)
        return "expected unique items but items " + std::to_string(it->second) + " and " + std::to_string(i + 1) +
               " are equal";
    }
  }
  return {};
}

std::string check_array(const Spec& spec, Json& value, Alloc& alloc) {
  if (spec.min_items && value.Size() < *spec.min_items)
    return "expect array to have at least " + std::to_string(*spec.min_items) + " items";
  if (spec.max_items && value.Size() > *spec.max_items)
    return "expect array to have at most " + std::to_string(*spec.max_items) + " items";
  if (spec.items) {
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i)
      if (std::string inner = check(*spec.items, value[i], alloc); !inner.empty())
        return "failed to validate item " + std::to_string(i + 1) + ": " + inner;
  }
  if (spec.unique)
    if (std::string inner = check_unique(value); !inner.empty()) return inner;
  if (spec.contains) {
    for (auto& item : value.GetArray())
      if (check(*spec.contains, item, alloc).empty()) return {};
    return "failed to check contains";
  }
  return {};
}

// Patterns appear as Lua's %q would print them.
std::string quoted(const std::string& pattern) {
  std::string out = "\"";
  for (char c : pattern) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::size_t length_of(std::string_view text) noexcept {
  std::size_t n = 0;
  for (char c : text) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return n;
}

std::string check_string(const Spec& spec, const Json& value) {
  const std::string_view text = text_of(value);
  if (spec.min_length || spec.max_length) {
    const std::size_t n = length_of(text);
    if (spec.min_length && n < *spec.min_length)
      return "string too short, expected at least " + std::to_string(*spec.min_length) + ", got " + std::to_string(n);
    if (spec.max_length && n > *spec.max_length)
      return "string too long, expected at most " + std::to_string(*spec.max_length) + ", got " + std::to_string(n);
  }
  if (spec.regex && !spec.regex.search(text))
    return "failed to match pattern " + quoted(spec.pattern) + " with \"" + std::string(text) + "\"";
  if ((spec.format == "ipv4" && !is_ipv4_text(text)) || (spec.format == "ipv6" && !is_ipv6_text(text)))
    return "expected a valid " + spec.format + " address, got \"" + std::string(text) + "\"";
  return {};
}

std::string check_number(const Spec& spec, const Json& value) {
  const double v = value.GetDouble();
  const auto text = [&](const char* relation, double limit) {
    return "expected " + number_text(v) + " to be " + relation + " " + number_text(limit);
  };
  if (spec.at_least && v < *spec.at_least) return text("at least", *spec.at_least);
  if (spec.greater_than && v <= *spec.greater_than) return text("greater than", *spec.greater_than);
  if (spec.at_most && v > *spec.at_most) return text("at most", *spec.at_most);
  if (spec.less_than && v >= *spec.less_than) return text("smaller than", *spec.less_than);
  return {};
}

std::string check_any_of(const Spec& spec, Json& value, Alloc& alloc) {
  std::string lists;
  for (const auto& branch : spec.any_of) {
    if (check(branch, value, alloc).empty()) return {};
    const auto& required = branch.spec().required;
    if (required.empty()) continue;
    lists += lists.empty() ? ": [" : " or [";
    for (std::size_t i = 0; i < required.size(); ++i) lists += (i == 0 ? "\"" : ",\"") + required[i] + "\"";
    lists += "]";
  }
  return "object matches none of the required" + lists;
}

std::string check_one_of(const Spec& spec, Json& value, Alloc& alloc) {
  std::size_t matched = 0;
  for (std::size_t i = 0; i < spec.one_of.size(); ++i) {
    if (!check(spec.one_of[i], value, alloc).empty()) continue;
    if (matched != 0)
      return "value should match only one schema, but matches both schemas " + std::to_string(matched) + " and " +
             std::to_string(i + 1);
    matched = i + 1;
  }
  return matched == 0 ? "value should match only one schema, but matches none" : std::string();
}

std::string check_combinations(const Spec& spec, Json& value, Alloc& alloc) {
  for (std::size_t i = 0; i < spec.all_of.size(); ++i)
    if (std::string inner = check(spec.all_of[i], value, alloc); !inner.empty())
      return "allOf " + std::to_string(i + 1) + " failed: " + inner;
  if (!spec.any_of.empty())
    if (std::string inner = check_any_of(spec, value, alloc); !inner.empty()) return inner;
  if (!spec.one_of.empty())
    if (std::string inner = check_one_of(spec, value, alloc); !inner.empty()) return inner;
  if (spec.negated && check(*spec.negated, value, alloc).empty()) return "value wasn't supposed to match schema";
  if (spec.condition) {
    if (check(*spec.condition, value, alloc).empty()) {
      if (spec.then_node && !check(*spec.then_node, value, alloc).empty()) return "then clause did not match";
    } else if (spec.else_node && !check(*spec.else_node, value, alloc).empty()) {
      return "else clause did not match";
    }
  }
  return {};
}

std::string check(const Node& node, Json& value, Alloc& alloc) {
  const Spec& spec = node.spec();
  if (value.IsString() && spec.types.size() == 1 && spec.types[0] == Type::string &&
      is_secret_reference(text_of(value)))
    return {};
  if (std::string inner = check_type(spec, value); !inner.empty()) return inner;
  if (spec.checks_object() && (value.IsObject() || is_empty_container(value))) {
    if (value.IsArray()) value.SetObject();
    if (std::string inner = check_object(spec, value, alloc); !inner.empty()) return inner;
  }
  if (spec.checks_array() && value.IsArray())
    if (std::string inner = check_array(spec, value, alloc); !inner.empty()) return inner;
  if (value.IsString())
    if (std::string inner = check_string(spec, value); !inner.empty()) return inner;
  if (value.IsNumber())
    if (std::string inner = check_number(spec, value); !inner.empty()) return inner;
  if (spec.values) {
    bool found = false;
    for (const auto& v : spec.values->GetArray()) found = found || equal_json(v, value);
    if (!found) return "matches none of the enum values";
  }
  if (spec.constant && !equal_json(*spec.constant, value)) return "failed to check const value";
  return check_combinations(spec, value, alloc);
}

}  // namespace

std::string validate(const Node& node, Json& value, Alloc& alloc, bool fill_defaults) {
  if (fill_defaults) return check(node, value, alloc);
  JsonDoc copy;
  static_cast<Json&>(copy) = copy_json(value, copy.GetAllocator());
  return check(node, copy, copy.GetAllocator());
}

}  // namespace sluice::schema
