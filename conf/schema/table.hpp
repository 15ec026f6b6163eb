// Table<C>: the fields of a configuration struct C, said once.
//
//   static const auto& t = schema::table<Config>()
//       .field("rate", &Config::rate, schema::number().greater_than(0).doc("requests per second"), schema::required)
//       .field("key",  &Config::key,  schema::string().min_length(1).default_value("remote_addr"))
//       .refine([](schema::Node n) { return n.require_any({{"rate"}, {"rules"}}); });
//
// From it come the schema (node), the messages, the defaults, the published JSON Schema and the parsed struct. Members
// of C keep their own initial value when the document has no such member and the schema no default.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "conf/schema/read.hpp"
#include "conf/schema/schema.hpp"

namespace sluice::schema {

inline constexpr bool required = true;
inline constexpr bool optional = false;

template <class C>
class Table {
 public:
  template <class M>
  [[nodiscard]] Table field(std::string name, M C::*member, Node node, bool is_required = false) && {
    add(std::move(name), std::move(node), is_required,
        [member](const Json& value, C& out) { return read_into(value, out.*member); });
    return std::move(*this);
  }

  // A member that is a struct with a table of its own, or an optional or vector of such structs. `shape` may add
  // constraints to the member's node (for a vector: to the array's node).
  template <class T>
  [[nodiscard]] Table field(std::string name, T C::*member, const Table<T>& inner, bool is_required = false,
                            const std::function<Node(Node)>& shape = {}) && {
    add(std::move(name), shaped(inner.node(), shape), is_required,
        [member, inner](const Json& value, C& out) { return inner.read(value, out.*member); });
    return std::move(*this);
  }
  template <class T>
  [[nodiscard]] Table field(std::string name, std::optional<T> C::*member, const Table<T>& inner,
                            bool is_required = false, const std::function<Node(Node)>& shape = {}) && {
    add(std::move(name), shaped(inner.node(), shape), is_required, [member, inner](const Json& value, C& out) {
      out.*member = T{};   // not emplace(): clang doubts a nested struct with member initialisers
      return inner.read(value, *(out.*member));
    });
    return std::move(*this);
  }
  template <class T>
  [[nodiscard]] Table field(std::string name, std::vector<T> C::*member, const Table<T>& inner,
                            bool is_required = false, const std::function<Node(Node)>& shape = {}) && {
    add(std::move(name), shaped(array(inner.node()), shape), is_required,
        [member, inner](const Json& value, C& out) -> Result<void> {
          (out.*member).clear();
          if (!value.IsArray()) return {};
          for (const auto& item : value.GetArray())
            if (auto read = inner.read(item, (out.*member).emplace_back()); !read) return read;
          return {};
        });
    return std::move(*this);
  }

  // A field that is checked and published but has no place in C.
  [[nodiscard]] Table accepted(std::string name, Node node, bool is_required = false) && {
    node_ = node_.property(std::move(name), std::move(node), is_required);
    return std::move(*this);
  }

  // A member that is not declared by the schema at this level (declared in a `then` branch, say) but read when there.
  template <class M>
  [[nodiscard]] Table reads(std::string name, M C::*member) && {
    fields_.push_back({std::move(name), [member](const Json& value, C& out) { return read_into(value, out.*member); }});
    return std::move(*this);
  }

  // Constraints on the whole object.
  template <class Change>
  [[nodiscard]] Table refine(Change change) && {
    node_ = change(std::move(node_));
    return std::move(*this);
  }

  const Node& node() const noexcept { return node_; }

  // REQUIRES: `value` passed validate(node(), …) with defaults filled in.
  Result<void> read(const Json& value, C& out) const {
    for (const auto& f : fields_) {
      const Json* member = find(value, f.name);
      if (member == nullptr) continue;
      if (auto read = f.read(*member, out); !read)
        return invalid("property \"" + f.name + "\" validation failed: " + read.error().message());
    }
    return {};
  }

  // Validates (filling defaults into `value`) and reads.
  Result<C> parse(Json& value, JsonDoc::AllocatorType& alloc) const {
    if (std::string message = validate(node_, value, alloc); !message.empty()) return invalid(std::move(message));
    C out{};
    if (auto done = read(value, out); !done) return done.error();
    return out;
  }

  Result<C> parse(std::string_view json_text) const {
    auto doc = parse_json(json_text);
    if (!doc) return doc.error();
    return parse(*doc, doc->GetAllocator());
  }

  std::vector<std::string> names() const { return property_names(node_); }

 private:
  using Read = std::function<Result<void>(const Json&, C&)>;
  struct Field {
    std::string name;
    Read read;
  };

  static Node shaped(Node node, const std::function<Node(Node)>& shape) { return shape ? shape(std::move(node)) : node; }

  void add(std::string name, Node node, bool is_required, Read read) {
    node_ = node_.property(name, std::move(node), is_required);
    fields_.push_back({std::move(name), std::move(read)});
  }

  Node node_ = object();
  std::vector<Field> fields_;
};

template <class C>
Table<C> table() {
  return {};
}

}  // namespace sluice::schema
