// The builder: every fluent method copies the Spec, changes one thing and wraps the copy. Nodes are built at start.
#include "conf/schema/schema.hpp"

#include <algorithm>
#include <stdexcept>

#include "conf/base/text.hpp"
#include "conf/schema/spec.hpp"

namespace sluice::schema {

const char* name_of(Type type) noexcept {
  switch (type) {
    case Type::object:
      return "object";
    case Type::array:
      return "array";
    case Type::string:
      return "string";
    case Type::number:
      return "number";
    case Type::integer:
      return "integer";
    case Type::boolean:
      return "boolean";
    default:
      return "null";
  }
}

SharedDoc shared_json(std::string_view json_text) {
  auto doc = parse_json(json_text);
  if (!doc) throw std::invalid_argument("schema: bad JSON literal: " + doc.error().message());
  return std::make_shared<const JsonDoc>(std::move(*doc));
}

Regex shared_regex(const std::string& pattern) {
  auto regex = Regex::compile(pattern);
  if (!regex) throw std::invalid_argument("schema: bad pattern: " + regex.error().message());
  return *regex;
}

template <class Change>
Node Node::changed(Change change) const {
  auto copy = std::make_shared<Spec>(*spec_);
  change(*copy);
  return Node(std::shared_ptr<const Spec>(std::move(copy)));
}

Node::Node() {
  static const auto kAnything = std::make_shared<const Spec>();
  spec_ = kAnything;
}

Node::Node(Type type) {
  auto spec = std::make_shared<Spec>();
  spec->types.push_back(type);
  spec_ = std::move(spec);
}

Node Node::min_length(std::size_t n) const {
  return changed([&](Spec& s) { s.min_length = n; });
}
Node Node::max_length(std::size_t n) const {
  return changed([&](Spec& s) { s.max_length = n; });
}
Node Node::pattern(std::string regex) const {
  return changed([&](Spec& s) {
    s.regex = shared_regex(regex);
    s.pattern = std::move(regex);
  });
}
Node Node::format(std::string name) const {
  return changed([&](Spec& s) { s.format = std::move(name); });
}

Node Node::one_of_values(Names values) const {
  JsonDoc doc(rapidjson::kArrayType);
  for (const auto& v : values) doc.PushBack(Json(v, doc.GetAllocator()), doc.GetAllocator());
  return changed([&](Spec& s) { s.values = std::make_shared<const JsonDoc>(std::move(doc)); });
}
Node Node::enum_json(std::string_view json_array) const {
  auto values = shared_json(json_array);
  if (!values->IsArray()) throw std::invalid_argument("schema: an enumeration must be an array");
  return changed([&](Spec& s) { s.values = values; });
}
Node Node::constant_json(std::string_view json_text) const {
  return changed([&](Spec& s) { s.constant = shared_json(json_text); });
}

Node Node::at_least(double n) const {
  return changed([&](Spec& s) { s.at_least = n; });
}
Node Node::at_most(double n) const {
  return changed([&](Spec& s) { s.at_most = n; });
}
Node Node::greater_than(double n) const {
  return changed([&](Spec& s) { s.greater_than = n; });
}
Node Node::less_than(double n) const {
  return changed([&](Spec& s) { s.less_than = n; });
}

Node Node::items(Node item) const {
  return changed([&](Spec& s) { s.items = std::move(item); });
}
Node Node::min_items(std::size_t n) const {
  return changed([&](Spec& s) { s.min_items = n; });
}
Node Node::max_items(std::size_t n) const {
  return changed([&](Spec& s) { s.max_items = n; });
}
Node Node::unique() const {
  return changed([](Spec& s) { s.unique = true; });
}
Node Node::contains(Node item) const {
  return changed([&](Spec& s) { s.contains = std::move(item); });
}

Node Node::property(std::string name, Node value, bool required) const {
  return changed([&](Spec& s) {
    if (required && std::find(s.required.begin(), s.required.end(), name) == s.required.end())
      s.required.push_back(name);
    for (auto& p : s.properties) {
      if (p.name != name) continue;
      p.node = std::move(value);
      return;
    }
    s.properties.push_back({std::move(name), std::move(value)});
  });
}
Node Node::require(Names names) const {
  return changed([&](Spec& s) {
    for (auto& n : names)
      if (std::find(s.required.begin(), s.required.end(), n) == s.required.end()) s.required.push_back(std::move(n));
  });
}
Node Node::require_any(std::vector<Names> groups) const {
  std::vector<Node> branches;
  for (auto& g : groups) branches.push_back(Node().require(std::move(g)));
  return with_any_of(std::move(branches));
}
Node Node::depends(std::string name, Names needed) const {
  return changed([&](Spec& s) { s.dependencies.push_back({std::move(name), std::move(needed), std::nullopt}); });
}
Node Node::depends(std::string name, Node whole) const {
  return changed([&](Spec& s) { s.dependencies.push_back({std::move(name), {}, std::move(whole)}); });
}
Node Node::pattern_property(std::string regex, Node value) const {
  return changed([&](Spec& s) {
    Regex compiled = shared_regex(regex);
    s.pattern_properties.push_back({std::move(regex), std::move(compiled), std::move(value)});
  });
}
Node Node::closed() const {
  return changed([](Spec& s) { s.closed = true; });
}
Node Node::additional(Node value) const {
  return changed([&](Spec& s) { s.additional = std::move(value); });
}
Node Node::min_properties(std::size_t n) const {
  return changed([&](Spec& s) { s.min_properties = n; });
}
Node Node::max_properties(std::size_t n) const {
  return changed([&](Spec& s) { s.max_properties = n; });
}

Node Node::with_any_of(std::vector<Node> branches) const {
  return changed([&](Spec& s) { s.any_of = std::move(branches); });
}
Node Node::with_one_of(std::vector<Node> branches) const {
  return changed([&](Spec& s) { s.one_of = std::move(branches); });
}
Node Node::with_all_of(std::vector<Node> parts) const {
  return changed([&](Spec& s) { s.all_of.insert(s.all_of.end(), parts.begin(), parts.end()); });
}
Node Node::with_not(Node forbidden) const {
  return changed([&](Spec& s) { s.negated = std::move(forbidden); });
}
Node Node::with_if(Node condition, Node then_node, Node else_node) const {
  return changed([&](Spec& s) {
    s.condition = std::move(condition);
    s.then_node = std::move(then_node);
    s.else_node = std::move(else_node);
  });
}
Node Node::with_if(Node condition, Node then_node) const {
  return changed([&](Spec& s) {
    s.condition = std::move(condition);
    s.then_node = std::move(then_node);
  });
}

Node Node::default_json(std::string_view json_text) const {
  return changed([&](Spec& s) { s.default_value = shared_json(json_text); });
}
Node Node::default_value(bool value) const { return default_json(value ? "true" : "false"); }
Node Node::default_value(int value) const { return default_json(std::to_string(value)); }
Node Node::default_value(std::int64_t value) const { return default_json(std::to_string(value)); }
Node Node::default_value(double value) const { return default_json(number_text(value)); }
Node Node::default_value(const char* value) const {
  JsonDoc doc;
  doc.SetString(value, doc.GetAllocator());
  return changed([&](Spec& s) { s.default_value = std::make_shared<const JsonDoc>(std::move(doc)); });
}

Node Node::doc(std::string text) const {
  return changed([&](Spec& s) { s.description = std::move(text); });
}
Node Node::encrypted() const {
  return changed([](Spec& s) { s.encrypted = true; });
}
Node Node::keyword(std::string name, std::string_view json_text) const {
  return changed([&](Spec& s) { s.extras.emplace_back(std::move(name), shared_json(json_text)); });
}

Node any() { return Node(); }
Node string() { return Node(Type::string); }
Node number() { return Node(Type::number); }
Node integer() { return Node(Type::integer); }
Node boolean() { return Node(Type::boolean); }
Node null() { return Node(Type::null); }
Node array() { return Node(Type::array); }
Node array(Node items) { return Node(Type::array).items(std::move(items)); }
Node object() { return Node(Type::object); }
Node map(Node value) { return Node(Type::object).additional(std::move(value)); }
Node any_of(std::vector<Node> branches) { return Node().with_any_of(std::move(branches)); }
Node one_of(std::vector<Node> branches) { return Node().with_one_of(std::move(branches)); }
Node all_of(std::vector<Node> parts) { return Node().with_all_of(std::move(parts)); }
Node negate(Node forbidden) { return Node().with_not(std::move(forbidden)); }
Node if_then_else(Node condition, Node then_node, Node else_node) {
  return Node().with_if(std::move(condition), std::move(then_node), std::move(else_node));
}
Node if_then(Node condition, Node then_node) { return Node().with_if(std::move(condition), std::move(then_node)); }

bool is_secret_reference(std::string_view text) noexcept {
  return text.substr(0, 10) == "$secret://" || text::istarts_with(text, "$env://");
}

std::vector<std::string> property_names(const Node& node) {
  std::vector<std::string> names;
  for (const auto& p : node.spec().properties) names.push_back(p.name);
  return names;
}

}  // namespace sluice::schema
