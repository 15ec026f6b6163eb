// Schemas as values: one Node describes what a JSON value must look like.
//
// A Node is built once (fluent methods return a changed copy), is immutable and cheap to copy, and serves three ends:
// validate() checks a value and fills in defaults, in the order and with the wording that Admin API clients know;
// to_json_schema() gives the JSON Schema that the Admin API publishes; encrypted_paths() says what is secret.
// A string that is a secret reference (`$secret://…`, `$env://…`) passes every check of a string-typed node.
//
// Only programmers write Nodes: a bad pattern or a bad JSON literal in one throws std::invalid_argument at start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/json.hpp"

namespace sluice::schema {

struct Spec;  // what a Node is made of: conf/schema/spec.hpp

enum class Type : std::uint8_t { object, array, string, number, integer, boolean, null };

using Names = std::vector<std::string>;

class Node {
 public:
  Node();  // accepts everything
  explicit Node(Type type);
  explicit Node(std::shared_ptr<const Spec> spec) : spec_(std::move(spec)) {}

  // Strings. Lengths count characters.
  [[nodiscard]] Node min_length(std::size_t n) const;
  [[nodiscard]] Node max_length(std::size_t n) const;
  [[nodiscard]] Node pattern(std::string regex) const;
  [[nodiscard]] Node format(std::string name) const;  // ipv4, ipv6; other names are published, not checked

  // Enumerations: strings, or any JSON array such as "[1,0]".
  [[nodiscard]] Node one_of_values(Names values) const;
  [[nodiscard]] Node enum_json(std::string_view json_array) const;
  [[nodiscard]] Node constant_json(std::string_view json_text) const;

  // Numbers.
  [[nodiscard]] Node at_least(double n) const;
  [[nodiscard]] Node at_most(double n) const;
  [[nodiscard]] Node greater_than(double n) const;
  [[nodiscard]] Node less_than(double n) const;

  // Arrays.
  [[nodiscard]] Node items(Node item) const;
  [[nodiscard]] Node min_items(std::size_t n) const;
  [[nodiscard]] Node max_items(std::size_t n) const;
  [[nodiscard]] Node unique() const;
  [[nodiscard]] Node contains(Node item) const;

  // Objects. Properties are checked in the order in which they are added.
  [[nodiscard]] Node property(std::string name, Node value, bool required = false) const;
  [[nodiscard]] Node require(Names names) const;
  [[nodiscard]] Node require_any(std::vector<Names> groups) const;  // anyOf of required lists
  [[nodiscard]] Node depends(std::string name, Names needed) const;
  [[nodiscard]] Node depends(std::string name, Node whole) const;  // what the object must look like when `name` is there
  [[nodiscard]] Node pattern_property(std::string regex, Node value) const;
  [[nodiscard]] Node closed() const;                 // additionalProperties: false
  [[nodiscard]] Node additional(Node value) const;   // additionalProperties: {…}
  [[nodiscard]] Node min_properties(std::size_t n) const;
  [[nodiscard]] Node max_properties(std::size_t n) const;

  // Combinations, as members of this node.
  [[nodiscard]] Node with_any_of(std::vector<Node> branches) const;
  [[nodiscard]] Node with_one_of(std::vector<Node> branches) const;
  [[nodiscard]] Node with_all_of(std::vector<Node> parts) const;  // appended to parts given before
  [[nodiscard]] Node with_not(Node forbidden) const;
  [[nodiscard]] Node with_if(Node condition, Node then_node, Node else_node) const;
  [[nodiscard]] Node with_if(Node condition, Node then_node) const;
  [[nodiscard]] Node and_(Node other) const { return with_all_of({std::move(other)}); }

  // Defaults are filled in where the property is absent.
  [[nodiscard]] Node default_json(std::string_view json_text) const;
  [[nodiscard]] Node default_value(bool value) const;
  [[nodiscard]] Node default_value(int value) const;
  [[nodiscard]] Node default_value(std::int64_t value) const;
  [[nodiscard]] Node default_value(double value) const;
  [[nodiscard]] Node default_value(const char* value) const;
  [[nodiscard]] Node default_value(const std::string& value) const { return default_value(value.c_str()); }

  [[nodiscard]] Node doc(std::string text) const;  // published as `description`
  [[nodiscard]] Node encrypted() const;            // a secret: encrypted at rest
  [[nodiscard]] Node keyword(std::string name, std::string_view json_text) const;  // published only

  const Spec& spec() const noexcept { return *spec_; }

 private:
  template <class Change>
  Node changed(Change change) const;

  std::shared_ptr<const Spec> spec_;
};

Node any();
Node string();
Node number();
Node integer();
Node boolean();
Node null();
Node array();
Node array(Node items);
Node object();
Node map(Node value);  // object whose members all look like `value`
Node any_of(std::vector<Node> branches);
Node one_of(std::vector<Node> branches);
Node all_of(std::vector<Node> parts);
Node negate(Node forbidden);
Node if_then_else(Node condition, Node then_node, Node else_node);
Node if_then(Node condition, Node then_node);

// The Node that a JSON Schema text describes. Unknown keywords are kept for publication.
Node from_json_schema(std::string_view json_schema_text);

JsonDoc to_json_schema(const Node& node);

// Checks `value`. Returns the message, or an empty text when valid. With fill_defaults, absent properties that have a
// default are added to `value` (memory from `alloc`) and an empty array given for an object becomes an object (the two
// cannot be told apart in the reference); without, `value` is not changed.
std::string validate(const Node& node, Json& value, JsonDoc::AllocatorType& alloc, bool fill_defaults = true);

// Paths of secret fields below an object node, members joined by '.', array items without an index:
// "redis_password", "auth.header", "rules.token".
std::vector<std::string> encrypted_paths(const Node& node);

// Names of the properties declared by the node itself, in order.
std::vector<std::string> property_names(const Node& node);

// `$secret://…` or `$env://…` (the latter in any case).
bool is_secret_reference(std::string_view text) noexcept;

}  // namespace sluice::schema
