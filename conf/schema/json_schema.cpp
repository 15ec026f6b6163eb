// Nodes from and to JSON Schema texts, and the list of secret fields.
#include <stdexcept>

#include "conf/schema/schema.hpp"
#include "conf/schema/spec.hpp"

namespace sluice::schema {
namespace {

using Alloc = JsonDoc::AllocatorType;

// ---- from text

Type type_of(std::string_view name) {
  for (Type t : {Type::object, Type::array, Type::string, Type::number, Type::integer, Type::boolean, Type::null})
    if (name == name_of(t)) return t;
  throw std::invalid_argument("schema: unknown type " + std::string(name));
}

Node node_of(const Json& schema);

SharedDoc copy_of(const Json& value) {
  auto doc = std::make_shared<JsonDoc>();
  static_cast<Json&>(*doc) = copy_json(value, doc->GetAllocator());
  return doc;
}

Names names_of(const Json& list) {
  Names names;
  if (list.IsArray())
    for (const auto& n : list.GetArray()) names.emplace_back(text_of(n));
  return names;
}

std::vector<Node> nodes_of(const Json& list) {
  std::vector<Node> nodes;
  for (const auto& n : list.GetArray()) nodes.push_back(node_of(n));
  return nodes;
}

// Members of an object keyword: properties, required, pattern and additional properties, dependencies.
bool read_object_keyword(Spec& s, std::string_view key, const Json& v) {
  if (key == "properties") {
    for (const auto& m : v.GetObject()) s.properties.push_back({std::string(text_of(m.name)), node_of(m.value)});
  } else if (key == "required" && v.IsArray()) {
    s.required = names_of(v);
  } else if (key == "patternProperties") {
    for (const auto& m : v.GetObject()) {
      const std::string pattern(text_of(m.name));
      s.pattern_properties.push_back({pattern, shared_regex(pattern), node_of(m.value)});
    }
  } else if (key == "additionalProperties") {
    if (v.IsObject())
      s.additional = node_of(v);
    else
      (v.IsTrue() ? s.open_stated : s.closed) = true;
  } else if (key == "dependencies") {
    for (const auto& m : v.GetObject()) {
      Dependency d{std::string(text_of(m.name)), names_of(m.value), std::nullopt};
      if (m.value.IsObject()) d.node = node_of(m.value);
      s.dependencies.push_back(std::move(d));
    }
  } else if (key == "minProperties") {
    s.min_properties = v.GetUint();
  } else if (key == "maxProperties") {
    s.max_properties = v.GetUint();
  } else if (key == "encrypt_fields") {
    s.encrypt_fields = names_of(v);
  } else {
    return false;
  }
  return true;
}

bool read_scalar_keyword(Spec& s, std::string_view key, const Json& v) {
  if (key == "minLength") {
    s.min_length = v.GetUint();
  } else if (key == "maxLength") {
    s.max_length = v.GetUint();
  } else if (key == "pattern") {
    s.pattern = text_of(v);
    s.regex = shared_regex(s.pattern);
  } else if (key == "format") {
    s.format = text_of(v);
  } else if (key == "minimum") {
    s.at_least = v.GetDouble();
  } else if (key == "maximum") {
    s.at_most = v.GetDouble();
  } else if (key == "exclusiveMinimum" && v.IsNumber()) {
    s.greater_than = v.GetDouble();
  } else if (key == "exclusiveMaximum" && v.IsNumber()) {
    s.less_than = v.GetDouble();
  } else if (key == "enum") {
    s.values = copy_of(v);
  } else if (key == "const") {
    s.constant = copy_of(v);
  } else if (key == "default") {
    s.default_value = copy_of(v);
  } else if (key == "description" && v.IsString()) {
    s.description = text_of(v);
  } else {
    return false;
  }
  return true;
}

bool read_structure_keyword(Spec& s, std::string_view key, const Json& v) {
  if (key == "items" && v.IsObject()) {
    s.items = node_of(v);
  } else if (key == "contains") {
    s.contains = node_of(v);
  } else if (key == "minItems") {
    s.min_items = v.GetUint();
  } else if (key == "maxItems") {
    s.max_items = v.GetUint();
  } else if (key == "uniqueItems" && v.IsBool()) {
    s.unique = v.GetBool();
  } else if (key == "allOf") {
    s.all_of = nodes_of(v);
  } else if (key == "anyOf") {
    s.any_of = nodes_of(v);
  } else if (key == "oneOf") {
    s.one_of = nodes_of(v);
  } else if (key == "not") {
    s.negated = node_of(v);
  } else if (key == "if") {
    s.condition = node_of(v);
  } else if (key == "then") {
    s.then_node = node_of(v);
  } else if (key == "else") {
    s.else_node = node_of(v);
  } else {
    return false;
  }
  return true;
}

Node node_of(const Json& schema) {
  if (!schema.IsObject()) throw std::invalid_argument("schema: expected an object, got " + to_json(schema));
  auto s = std::make_shared<Spec>();
  for (const auto& m : schema.GetObject()) {
    const std::string_view key = text_of(m.name);
    if (key == "type") {
      if (m.value.IsString()) s->types.push_back(type_of(text_of(m.value)));
      if (m.value.IsArray())
        for (const auto& t : m.value.GetArray()) s->types.push_back(type_of(text_of(t)));
      continue;
    }
    if (read_object_keyword(*s, key, m.value) || read_scalar_keyword(*s, key, m.value) ||
        read_structure_keyword(*s, key, m.value))
      continue;
    s->extras.emplace_back(key, copy_of(m.value));
  }
  return Node(std::shared_ptr<const Spec>(std::move(s)));
}

// ---- to text

class Publisher {
 public:
  explicit Publisher(Alloc& alloc) : alloc_(alloc) {}

  Json publish(const Node& node) {
    const Spec& s = node.spec();
    Json out(rapidjson::kObjectType);
    if (s.types.size() == 1) put(out, "type", text(name_of(s.types[0])));
    if (s.types.size() > 1) {
      Json list(rapidjson::kArrayType);
      for (Type t : s.types) list.PushBack(text(name_of(t)), alloc_);
      put(out, "type", std::move(list));
    }
    publish_object(s, out);
    publish_array(s, out);
    publish_scalars(s, out);
    publish_combinations(s, out);
    for (const auto& [name, value] : s.extras) put(out, name.c_str(), copy_json(*value, alloc_));
    return out;
  }

  Json names(const Names& list) {
    Json out(rapidjson::kArrayType);
    for (const auto& n : list) out.PushBack(text(n), alloc_);
    return out;
  }

  void put(Json& object, const char* name, Json value) { object.AddMember(Json(name, alloc_), value, alloc_); }

 private:
  Json text(std::string_view s) { return Json(s.data(), static_cast<rapidjson::SizeType>(s.size()), alloc_); }

  static Json number(double v) {
    if (v >= -9e15 && v <= 9e15 && v == static_cast<double>(static_cast<std::int64_t>(v)))
      return Json(static_cast<std::int64_t>(v));
    return Json(v);
  }

  void count(Json& out, const char* name, const std::optional<std::size_t>& n) {
    if (n) put(out, name, Json(static_cast<std::uint64_t>(*n)));
  }
  void limit(Json& out, const char* name, const std::optional<double>& n) {
    if (n) put(out, name, number(*n));
  }
  void child(Json& out, const char* name, const std::optional<Node>& n) {
    if (n) put(out, name, publish(*n));
  }
  void children(Json& out, const char* name, const std::vector<Node>& nodes) {
    if (nodes.empty()) return;
    Json list(rapidjson::kArrayType);
    for (const auto& n : nodes) list.PushBack(publish(n), alloc_);
    put(out, name, std::move(list));
  }

  void publish_object(const Spec& s, Json& out) {
    if (!s.properties.empty()) {
      Json all(rapidjson::kObjectType);
      for (const auto& p : s.properties) put(all, p.name.c_str(), publish(p.node));
      put(out, "properties", std::move(all));
    }
    if (!s.required.empty()) put(out, "required", names(s.required));
    if (!s.pattern_properties.empty()) {
      Json all(rapidjson::kObjectType);
      for (const auto& p : s.pattern_properties) put(all, p.pattern.c_str(), publish(p.node));
      put(out, "patternProperties", std::move(all));
    }
    if (s.additional) put(out, "additionalProperties", publish(*s.additional));
    if (s.closed) put(out, "additionalProperties", Json(false));
    if (s.open_stated) put(out, "additionalProperties", Json(true));
    if (!s.dependencies.empty()) {
      Json all(rapidjson::kObjectType);
      for (const auto& d : s.dependencies) put(all, d.name.c_str(), d.node ? publish(*d.node) : names(d.needed));
      put(out, "dependencies", std::move(all));
    }
    count(out, "minProperties", s.min_properties);
    count(out, "maxProperties", s.max_properties);
  }

  void publish_array(const Spec& s, Json& out) {
    child(out, "items", s.items);
    child(out, "contains", s.contains);
    count(out, "minItems", s.min_items);
    count(out, "maxItems", s.max_items);
    if (s.unique) put(out, "uniqueItems", Json(true));
  }

  void publish_scalars(const Spec& s, Json& out) {
    count(out, "minLength", s.min_length);
    count(out, "maxLength", s.max_length);
    if (!s.pattern.empty()) put(out, "pattern", text(s.pattern));
    if (!s.format.empty()) put(out, "format", text(s.format));
    limit(out, "minimum", s.at_least);
    limit(out, "maximum", s.at_most);
    limit(out, "exclusiveMinimum", s.greater_than);
    limit(out, "exclusiveMaximum", s.less_than);
    if (s.values) put(out, "enum", copy_json(*s.values, alloc_));
    if (s.constant) put(out, "const", copy_json(*s.constant, alloc_));
    if (s.default_value) put(out, "default", copy_json(*s.default_value, alloc_));
    if (!s.description.empty()) put(out, "description", text(s.description));
  }

  void publish_combinations(const Spec& s, Json& out) {
    children(out, "allOf", s.all_of);
    children(out, "anyOf", s.any_of);
    children(out, "oneOf", s.one_of);
    child(out, "not", s.negated);
    child(out, "if", s.condition);
    child(out, "then", s.then_node);
    child(out, "else", s.else_node);
  }

  Alloc& alloc_;
};

// ---- secrets

void add_unique(Names& out, std::string path) {
  for (const auto& p : out)
    if (p == path) return;
  out.push_back(std::move(path));
}

void collect_encrypted(const Node& node, const std::string& at, Names& out) {
  const Spec& s = node.spec();
  if (s.encrypted && !at.empty()) add_unique(out, at);
  const std::string prefix = at.empty() ? at : at + ".";
  for (const auto& f : s.encrypt_fields) add_unique(out, prefix + f);
  for (const auto& p : s.properties) collect_encrypted(p.node, prefix + p.name, out);
  if (s.items) collect_encrypted(*s.items, at, out);
  for (const auto* list : {&s.all_of, &s.any_of, &s.one_of})
    for (const auto& n : *list) collect_encrypted(n, at, out);
  for (const auto* n : {&s.then_node, &s.else_node})
    if (*n) collect_encrypted(**n, at, out);
}

}  // namespace

Node from_json_schema(std::string_view json_schema_text) {
  const SharedDoc doc = shared_json(json_schema_text);
  return node_of(*doc);
}

JsonDoc to_json_schema(const Node& node) {
  JsonDoc doc;
  Publisher publisher(doc.GetAllocator());
  Json out = publisher.publish(node);
  if (Names secret = encrypted_paths(node); !secret.empty())
    publisher.put(out, "encrypt_fields", publisher.names(secret));
  static_cast<Json&>(doc) = out;
  return doc;
}

std::vector<std::string> encrypted_paths(const Node& node) {
  Names out;
  collect_encrypted(node, "", out);
  return out;
}

}  // namespace sluice::schema
