// The inside of a Node. Included by the builder, the validator and the publisher; nobody else needs it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conf/base/pcre.hpp"
#include "conf/schema/schema.hpp"

namespace sluice::schema {

using SharedDoc = std::shared_ptr<const JsonDoc>;

struct Property {
  std::string name;
  Node node;
};

struct PatternProperty {
  std::string pattern;
  Regex regex;
  Node node;
};

struct Dependency {
  std::string name;
  Names needed;               // other members that must be there …
  std::optional<Node> node;   // … or what the whole object must look like
};

struct Spec {
  std::vector<Type> types;  // empty: any

  // objects
  std::vector<Property> properties;
  Names required;
  std::vector<PatternProperty> pattern_properties;
  std::vector<Dependency> dependencies;
  bool closed = false;
  bool open_stated = false;  // additionalProperties: true was written: published, no effect
  std::optional<Node> additional;
  std::optional<std::size_t> min_properties, max_properties;

  // arrays
  std::optional<Node> items;
  std::optional<Node> contains;
  std::optional<std::size_t> min_items, max_items;
  bool unique = false;

  // strings
  std::optional<std::size_t> min_length, max_length;
  std::string pattern;
  Regex regex;
  std::string format;

  // numbers
  std::optional<double> at_least, at_most, greater_than, less_than;

  SharedDoc values;    // enum: an array
  SharedDoc constant;  // const

  std::vector<Node> all_of, any_of, one_of;
  std::optional<Node> negated, condition, then_node, else_node;

  SharedDoc default_value;
  std::string description;
  bool encrypted = false;
  Names encrypt_fields;                                   // as given in a JSON Schema text
  std::vector<std::pair<std::string, SharedDoc>> extras;  // published only

  bool checks_object() const noexcept {
    return !properties.empty() || !required.empty() || !pattern_properties.empty() || !dependencies.empty() || closed ||
           additional || min_properties || max_properties;
  }
  bool checks_array() const noexcept { return items || contains || min_items || max_items || unique; }
};

const char* name_of(Type type) noexcept;
SharedDoc shared_json(std::string_view json_text);  // throws std::invalid_argument
Regex shared_regex(const std::string& pattern);     // throws std::invalid_argument

}  // namespace sluice::schema
