// Conditions as a flat program: one array of nodes in prefix order, each group knowing where its children end.
//
// Everything that can be decided ahead is: the variable's getter, the number or lower-cased text of the constant, the
// compiled pattern, the address set. Evaluation walks the array, stops early, and allocates only from the request's
// arena.
#include "plugins/sdk/expression.hpp"

#include <charconv>
#include <optional>
#include <vector>

#include "conf/base/cidr.hpp"
#include "conf/base/pcre.hpp"
#include "conf/base/text.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/variable.hpp"
#include "plugins/sdk/variable_getters.hpp"

namespace sluice::sdk {

namespace {

enum class Logic : unsigned char { all, any, not_all, not_any };
enum class Op : unsigned char { equal, differs, greater, greater_equal, less, less_equal, matches, in, has, ipmatch };

// A constant of a rule.
struct Operand {
  enum class Type : unsigned char { null, text, number, boolean, list, other };
  Type type = Type::null;
  std::string text;
  double number = 0;
  bool boolean = false;
  std::vector<Operand> list;
};

struct Condition {
  Variable variable;
  Op op = Op::equal;
  bool negated = false;
  Operand operand;
  Regex pattern;
  CidrSet addresses;
  std::string source;    // for why_not
};

struct Node {
  bool group = false;
  Logic logic = Logic::all;
  std::uint32_t end = 0;        // group: index after its last descendant
  std::uint32_t condition = 0;  // index into conditions
};

constexpr unsigned kMaxDepth = 32;

std::optional<Logic> logic_of(const Json& value) {
  if (!value.IsString()) return std::nullopt;
  const std::string_view name = text_of(value);
  if (text::iequal(name, "AND")) return Logic::all;
  if (text::iequal(name, "OR")) return Logic::any;
  if (text::iequal(name, "!AND")) return Logic::not_all;
  if (text::iequal(name, "!OR")) return Logic::not_any;
  return std::nullopt;
}

struct OpName {
  std::string_view name;
  Op op;
};
constexpr OpName kOps[] = {{"==", Op::equal},     {"~=", Op::differs}, {">", Op::greater}, {">=", Op::greater_equal},
                           {"<", Op::less},       {"<=", Op::less_equal}, {"~~", Op::matches}, {"~*", Op::matches},
                           {"in", Op::in},        {"has", Op::has},    {"ipmatch", Op::ipmatch}};

Operand operand_of(const Json& value) {
  Operand o;
  if (value.IsString()) {
    o.type = Operand::Type::text;
    o.text = text_of(value);
  } else if (value.IsBool()) {
    o.type = Operand::Type::boolean;
    o.boolean = value.GetBool();
    o.text = o.boolean ? "true" : "false";
  } else if (value.IsNumber()) {
    o.type = Operand::Type::number;
    o.number = value.GetDouble();
    o.text = number_text(o.number);
  } else if (value.IsArray()) {
    o.type = Operand::Type::list;
    for (const Json& item : value.GetArray()) o.list.push_back(operand_of(item));
  } else if (!value.IsNull()) {
    o.type = Operand::Type::other;
  }
  return o;
}

// As the reference's language reads numbers: surrounding blanks and hexadecimal are fine.
std::optional<double> to_number(std::string_view s) noexcept {
  s = text::trim(s);
  bool negative = false;
  if (!s.empty() && (s.front() == '-' || s.front() == '+')) {
    negative = s.front() == '-';
    s.remove_prefix(1);
  }
  if (s.empty() || (!text::is_digit(s.front()) && s.front() != '.')) return std::nullopt;
  double value = 0;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
    std::uint64_t hex = 0;
    const auto [end, error] = std::from_chars(s.data() + 2, s.data() + s.size(), hex, 16);
    if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
    value = static_cast<double>(hex);
  } else {
    const auto number = text::to_double(s);
    if (!number) return std::nullopt;
    value = *number;
  }
  return negative ? -value : value;
}

std::optional<double> number_of(const Value& v) noexcept {
  if (v.type == Value::Type::number) return v.number;
  if (v.type == Value::Type::text) return to_number(v.text);
  return std::nullopt;
}

std::optional<double> number_of(const Operand& o) noexcept {
  if (o.type == Operand::Type::number) return o.number;
  if (o.type == Operand::Type::text) return to_number(o.text);
  return std::nullopt;
}

// Same type and same value.
bool same(const Value& v, const Operand& o) noexcept {
  switch (v.type) {
    case Value::Type::absent: return o.type == Operand::Type::null;
    case Value::Type::text: return o.type == Operand::Type::text && v.text == o.text;
    case Value::Type::number: return o.type == Operand::Type::number && v.number == o.number;
    case Value::Type::boolean: return o.type == Operand::Type::boolean && v.boolean == o.boolean;
    case Value::Type::list: return false;
  }
  return false;
}

bool equal(const Value& v, const Operand& o) noexcept {
  if (o.type != Operand::Type::number) return same(v, o);
  const auto left = number_of(v);
  return left && *left == o.number;
}

using Outcome = Expression::Outcome;

Outcome outcome(bool b) noexcept { return b ? Outcome::yes : Outcome::no; }

Outcome related(const Condition& c, const Value& v) noexcept {
  const auto left = number_of(v);
  const auto right = number_of(c.operand);
  if (!left || !right) return Outcome::no;
  switch (c.op) {
    case Op::greater: return outcome(*left > *right);
    case Op::greater_equal: return outcome(*left >= *right);
    case Op::less: return outcome(*left < *right);
    default: return outcome(*left <= *right);
  }
}

Outcome matched(const Condition& c, const Value& v) noexcept {
  if (!v.exists() || v.type == Value::Type::list) return Outcome::no;
  if (!c.pattern) return Outcome::error;
  Captures captures;
  switch (c.pattern.try_match(v.text, captures)) {
    case Regex::Outcome::matched: return Outcome::yes;
    case Regex::Outcome::unmatched: return Outcome::no;
    case Regex::Outcome::failed: break;
  }
  return Outcome::error;
}

Outcome holds(const Condition& c, const Value& v) noexcept {
  switch (c.op) {
    case Op::equal: return outcome(equal(v, c.operand));
    case Op::differs: return outcome(!equal(v, c.operand));
    case Op::greater:
    case Op::greater_equal:
    case Op::less:
    case Op::less_equal: return related(c, v);
    case Op::matches: return matched(c, v);
    case Op::in:
      if (c.operand.type == Operand::Type::list)
        for (const Operand& item : c.operand.list)
          if (same(v, item)) return Outcome::yes;
      return Outcome::no;
    case Op::has:
      if (v.type == Value::Type::list)
        for (const std::string_view item : v.list)
          if (item == c.operand.text) return Outcome::yes;
      return Outcome::no;
    case Op::ipmatch:
      return outcome(v.type == Value::Type::text && c.addresses.contains(v.text));
  }
  return Outcome::error;
}

}  // namespace

struct Expression::Program {
  std::vector<Node> nodes;
  std::vector<Condition> conditions;
  bool needs_body = false;

  std::string compile(const Json& rule);
  Outcome run(std::uint32_t at, RequestContext& ctx) const noexcept;
  const Condition* failing(std::uint32_t at, RequestContext& ctx) const noexcept;

 private:
  std::string item(const Json& rule, unsigned depth);
  std::string group(const Json& rule, rapidjson::SizeType from, Logic logic, unsigned depth);
  std::string condition(const Json& rule);
  Outcome test(const Condition& c, RequestContext& ctx) const noexcept;
};

std::string Expression::Program::compile(const Json& rule) {
  if (!rule.IsArray()) return "rule should be wrapped inside brackets";
  if (rule.Empty()) return {};
  if (const auto logic = logic_of(rule[0])) {
    if (rule.Size() < 3) return "rule too short";
    return group(rule, 1, *logic, 0);
  }
  // An empty object cannot be told from an empty list in the reference.
  for (const Json& child : rule.GetArray())
    if (!child.IsArray())
      return child.IsObject() && child.ObjectEmpty() ? "rule too short" : "rule should be wrapped inside brackets";
  return group(rule, 0, Logic::all, 0);
}

std::string Expression::Program::group(const Json& rule, rapidjson::SizeType from, Logic logic, unsigned depth) {
  if (depth > kMaxDepth) return "rule nested too deeply";
  const auto at = nodes.size();
  nodes.push_back(Node{true, logic, 0, 0});
  for (rapidjson::SizeType i = from; i < rule.Size(); ++i)
    if (std::string message = item(rule[i], depth + 1); !message.empty()) return message;
  nodes[at].end = static_cast<std::uint32_t>(nodes.size());
  return {};
}

std::string Expression::Program::item(const Json& rule, unsigned depth) {
  if (rule.IsObject() && rule.ObjectEmpty()) return "rule too short";
  if (!rule.IsArray()) return "rule should be wrapped inside brackets";
  if (rule.Empty()) return "rule too short";
  if (rule[0].IsArray()) return group(rule, 0, Logic::all, depth);
  if (const auto logic = logic_of(rule[0])) {
    if (rule.Size() < 3) return "rule too short";
    return group(rule, 1, *logic, depth);
  }
  return condition(rule);
}

// A JSONPath into the body that is none. The reference's message leaves out the path's first letter; so does this one.
static std::string path_message(std::string_view name) {
  constexpr std::string_view kBody = "post_arg.";
  if (!name.starts_with(kBody)) return {};
  const std::string_view path = name.substr(kBody.size());
  const std::string_view fault = getters::json_path_fault(path);
  if (fault.empty()) return {};
  return "invalid expression \"$." + std::string(path.substr(1)) + "\" near \"" + std::string(fault) + "\"";
}

std::string Expression::Program::condition(const Json& rule) {
  if (rule.Size() < 2 || !rule[0].IsString()) return "invalid expression";
  Condition c;
  if (std::string message = path_message(text_of(rule[0])); !message.empty()) return message;
  c.variable = Variable::compile(text_of(rule[0]));
  c.source = to_json(rule);
  needs_body |= c.variable.needs_request_body();
  if (rule.Size() == 2) {
    // The old form without an operator compares with the lower-cased text.
    c.operand = operand_of(rule[1]);
    if (c.operand.type == Operand::Type::number || c.operand.type == Operand::Type::boolean ||
        c.operand.type == Operand::Type::text) {
      c.operand.text = text::to_lower(c.operand.text);
      c.operand.type = Operand::Type::text;
    }
  } else {
    rapidjson::SizeType at = 1;
    if (rule.Size() >= 4) {
      if (text_of(rule[1]) != "!") return "bad 'not' expression";
      c.negated = true;
      at = 2;
    }
    if (!rule[at].IsString()) return "invalid operator '" + to_json(rule[at]) + "'";
    const std::string_view name = text_of(rule[at]);
    const OpName* found = nullptr;
    for (const OpName& o : kOps)
      if (text::iequal(o.name, name)) found = &o;
    if (found == nullptr) return "invalid operator '" + std::string(name) + "'";
    c.op = found->op;
    c.operand = operand_of(rule[at + 1]);
    if (c.op == Op::matches) {
      // A pattern that does not compile makes the condition an error for every request, as it is in the reference.
      if (auto compiled = Regex::compile(c.operand.text, name == "~*" ? Regex::caseless : Regex::none)) c.pattern = std::move(*compiled);
    }
    if (c.op == Op::ipmatch) {
      std::vector<std::string> texts;
      if (c.operand.type == Operand::Type::text) texts.push_back(c.operand.text);
      for (const Operand& o : c.operand.list) texts.push_back(o.text);
      if (texts.empty()) return "invalid ip address";
      auto set = CidrSet::parse(texts);
      if (!set) return "invalid ip address";
      c.addresses = std::move(*set);
    }
  }
  nodes.push_back(Node{false, Logic::all, 0, static_cast<std::uint32_t>(conditions.size())});
  conditions.push_back(std::move(c));
  return {};
}

Outcome Expression::Program::test(const Condition& c, RequestContext& ctx) const noexcept {
  const Outcome result = holds(c, c.variable.get(ctx));
  if (!c.negated || result == Outcome::error) return result;
  return outcome(result == Outcome::no);
}

Outcome Expression::Program::run(std::uint32_t at, RequestContext& ctx) const noexcept {
  const Node& node = nodes[at];
  if (!node.group) return test(conditions[node.condition], ctx);
  const bool looks_for_yes = node.logic == Logic::any || node.logic == Logic::not_any;
  bool stopped = false;
  for (std::uint32_t child = at + 1; child < node.end; child = nodes[child].group ? nodes[child].end : child + 1) {
    const Outcome result = run(child, ctx);
    if (result == Outcome::error) return result;
    if ((result == Outcome::yes) == looks_for_yes) {
      stopped = true;
      break;
    }
  }
  const bool plain = looks_for_yes ? stopped : !stopped;
  const bool inverted = node.logic == Logic::not_all || node.logic == Logic::not_any;
  return outcome(plain != inverted);
}

const Condition* Expression::Program::failing(std::uint32_t at, RequestContext& ctx) const noexcept {
  const Node& node = nodes[at];
  if (!node.group) return test(conditions[node.condition], ctx) == Outcome::yes ? nullptr : &conditions[node.condition];
  if (run(at, ctx) == Outcome::yes) return nullptr;
  for (std::uint32_t child = at + 1; child < node.end; child = nodes[child].group ? nodes[child].end : child + 1)
    if (const Condition* c = failing(child, ctx)) return c;
  // An inverted group fails because all below holds: name its first condition.
  for (std::uint32_t child = at + 1; child < node.end; ++child)
    if (!nodes[child].group) return &conditions[nodes[child].condition];
  return nullptr;
}

Expression::Expression() = default;
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

Result<Expression> Expression::compile(const Json& rule) {
  auto program = std::make_unique<Program>();
  if (std::string message = program->compile(rule); !message.empty()) return invalid(std::move(message));
  Expression e;
  if (!program->nodes.empty()) e.program_ = std::move(program);
  return e;
}

Outcome Expression::evaluate(RequestContext& ctx) const noexcept {
  return program_ == nullptr ? Outcome::yes : program_->run(0, ctx);
}

bool Expression::always() const noexcept { return program_ == nullptr; }
bool Expression::needs_request_body() const noexcept { return program_ != nullptr && program_->needs_body; }

std::string Expression::why_not(RequestContext& ctx) const {
  if (program_ == nullptr) return {};
  const Condition* c = program_->failing(0, ctx);
  return c == nullptr ? std::string() : c->source;
}

}  // namespace sluice::sdk
