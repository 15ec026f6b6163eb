// graphql_operation, graphql_name, graphql_root_fields: facts of the first definition of a GraphQL document.
//
// A reader of the language's grammar that keeps nothing but those facts: the whole document must be well-formed,
// nesting is bounded, cost is one pass. GET takes the query argument `query`; POST the body, or member `query` of a JSON
// body. Another method, too large, not well-formed: all three are absent.
#include <array>

#include "conf/base/text.hpp"
#include "plugins/sdk/variable_getters.hpp"

namespace sluice::sdk {

struct GraphqlFacts {
  std::string_view operation;   // empty: the first definition is a fragment or a type
  std::string_view name;
  std::span<const std::string_view> root_fields;
  std::string_view joined;
};

namespace {

constexpr std::size_t kMaxRootFields = 256;
constexpr int kMaxNesting = 64;

class Reader {
 public:
  explicit Reader(std::string_view text) noexcept : at_(text.data()), end_(text.data() + text.size()) { advance(); }

  bool document() noexcept {
    if (kind_ == Kind::end) return false;
    bool first = true;
    while (kind_ != Kind::end) {
      if (!definition(first)) return false;
      first = false;
    }
    return kind_ == Kind::end;
  }

  std::string_view operation, name;
  std::array<std::string_view, kMaxRootFields> roots;
  std::size_t root_count = 0;

 private:
  enum class Kind : unsigned char { end, name, number, string, punctuator, spread, bad };

  bool is(char c) const noexcept { return kind_ == Kind::punctuator && token_.front() == c; }
  bool take(char c) noexcept {
    if (!is(c)) return false;
    advance();
    return true;
  }
  bool take_name() noexcept {
    if (kind_ != Kind::name) return false;
    advance();
    return true;
  }

  static bool name_start(char c) noexcept { return c == '_' || (text::lower(c) >= 'a' && text::lower(c) <= 'z'); }
  static bool name_part(char c) noexcept { return name_start(c) || text::is_digit(c); }

  void advance() noexcept {
    while (at_ < end_) {
      if (text::is_space(*at_) || *at_ == ',') ++at_;
      else if (*at_ == '#') while (at_ < end_ && *at_ != '\n') ++at_;
      else break;
    }
    const char* begin = at_;
    if (at_ == end_) {
      kind_ = Kind::end;
    } else if (name_start(*at_)) {
      while (at_ < end_ && name_part(*at_)) ++at_;
      kind_ = Kind::name;
    } else if (text::is_digit(*at_) || *at_ == '-') {
      ++at_;
      while (at_ < end_ && (text::is_digit(*at_) || *at_ == '.' || *at_ == 'e' || *at_ == 'E' || *at_ == '+' || *at_ == '-'))
        ++at_;
      kind_ = Kind::number;
    } else if (*at_ == '"') {
      kind_ = read_string() ? Kind::string : Kind::bad;
    } else if (end_ - at_ >= 3 && at_[0] == '.' && at_[1] == '.' && at_[2] == '.') {
      at_ += 3;
      kind_ = Kind::spread;
    } else if (std::string_view("{}()[]:=@$!|&").find(*at_) != std::string_view::npos) {
      ++at_;
      kind_ = Kind::punctuator;
    } else {
      kind_ = Kind::bad;
    }
    token_ = {begin, static_cast<std::size_t>(at_ - begin)};
  }

  bool read_string() noexcept {
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    if (rest.starts_with("\"\"\"")) {
      for (std::size_t i = 3; i + 3 <= rest.size(); ++i) {
        if (rest[i] == '\\' && rest.substr(i + 1).starts_with("\"\"\"")) i += 3;
        else if (rest.substr(i).starts_with("\"\"\"")) return at_ += i + 3, true;
      }
      return false;
    }
    for (std::size_t i = 1; i < rest.size() && rest[i] != '\n'; ++i) {
      if (rest[i] == '\\') ++i;
      else if (rest[i] == '"') return at_ += i + 1, true;
    }
    return false;
  }

  bool definition(bool first) noexcept {
    if (is('{')) {
      if (first) operation = "query";
      return selection_set(first, 0);
    }
    if (kind_ != Kind::name) return false;
    const std::string_view word = token_;
    advance();
    if (word == "fragment") {
      if (first) name = token_;
      if (!take_name() || token_ != "on") return false;
      advance();
      return take_name() && directives() && selection_set(false, 0);
    }
    if (word != "query" && word != "mutation" && word != "subscription") return false;
    if (first) operation = word;
    if (kind_ == Kind::name) {
      if (first) name = token_;
      advance();
    }
    if (is('(') && !variable_definitions()) return false;
    return directives() && selection_set(first, 0);
  }

  bool variable_definitions() noexcept {
    advance();
    while (take('$')) {
      if (!take_name() || !take(':') || !type(0)) return false;
      if (take('=') && !value(0)) return false;
      if (!directives()) return false;
    }
    return take(')');
  }

  bool type(int depth) noexcept {
    if (depth > kMaxNesting) return false;
    if (take('[')) {
      if (!type(depth + 1) || !take(']')) return false;
    } else if (!take_name()) {
      return false;
    }
    take('!');
    return true;
  }

  bool directives() noexcept {
    while (take('@'))
      if (!take_name() || (is('(') && !arguments())) return false;
    return true;
  }

  bool arguments() noexcept {
    advance();
    if (is(')')) return false;
    while (!is(')'))
      if (!take_name() || !take(':') || !value(0)) return false;
    return take(')');
  }

  bool value(int depth) noexcept {
    if (depth > kMaxNesting) return false;
    if (take('$')) return take_name();
    if (take('[')) {
      while (!is(']'))
        if (!value(depth + 1)) return false;
      return take(']');
    }
    if (take('{')) {
      while (!is('}'))
        if (!take_name() || !take(':') || !value(depth + 1)) return false;
      return take('}');
    }
    if (kind_ != Kind::name && kind_ != Kind::number && kind_ != Kind::string) return false;
    advance();
    return true;
  }

  bool selection_set(bool root, int depth) noexcept {
    if (depth > kMaxNesting || !take('{') || is('}')) return false;
    while (!is('}'))
      if (!selection(root, depth)) return false;
    return take('}');
  }

  void note_root(bool root, std::string_view field) noexcept {
    if (root && root_count < roots.size()) roots[root_count++] = field;
  }

  bool selection(bool root, int depth) noexcept {
    if (kind_ == Kind::spread) {
      advance();
      if (kind_ == Kind::name && token_ != "on") {
        note_root(root, token_);
        advance();
        return directives();
      }
      if (kind_ == Kind::name) {
        advance();
        if (!take_name()) return false;
      }
      return directives() && selection_set(false, depth + 1);
    }
    if (kind_ != Kind::name) return false;
    std::string_view field = token_;
    advance();
    if (take(':')) {
      field = token_;
      if (!take_name()) return false;
    }
    note_root(root, field);
    if (is('(') && !arguments()) return false;
    if (!directives()) return false;
    return !is('{') || selection_set(false, depth + 1);
  }

  const char* at_;
  const char* end_;
  Kind kind_ = Kind::bad;
  std::string_view token_;
};

// The document's text, or nothing.
std::optional<std::string_view> source_of(RequestContext& ctx) noexcept {
  if (ctx.method == "GET") {
    const Value v = getters::arg(ctx, "query");
    return v.exists() ? std::optional(v.text) : std::nullopt;
  }
  if (ctx.method != "POST" || !ctx.request_body) return std::nullopt;
  const Field* type = ctx.request_headers.find(FieldId::content_type);
  if (type == nullptr || type->value != "application/json") return *ctx.request_body;
  const Value v = getters::post_arg_path(ctx, "query");
  return v.type == Value::Type::text ? std::optional(v.text) : std::nullopt;
}

const GraphqlFacts* facts_of(RequestContext& ctx) noexcept {
  VariableCache& cache = cache_of(ctx);
  if (cache.graphql_state != VariableCache::State::unknown) return cache.graphql;
  cache.graphql_state = VariableCache::State::absent;
  if (ctx.request_body && ctx.request_body->size() > variable_limits().graphql_max_bytes) return nullptr;
  const auto source = source_of(ctx);
  if (!source || source->size() > variable_limits().graphql_max_bytes) return nullptr;
  Reader reader(*source);
  if (!reader.document()) return nullptr;
  auto fields = ctx.arena.array<std::string_view>(reader.root_count);
  std::string_view joined;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fields[i] = reader.roots[i];
    joined = i == 0 ? fields[0] : ctx.arena.concat({joined, ",", fields[i]});
  }
  cache.graphql = ctx.arena.make<GraphqlFacts>(GraphqlFacts{reader.operation, reader.name, fields, joined});
  cache.graphql_state = VariableCache::State::present;
  return cache.graphql;
}

}  // namespace

namespace getters {

Value graphql_operation(RequestContext& ctx, std::string_view) noexcept {
  const GraphqlFacts* facts = facts_of(ctx);
  return facts == nullptr ? Value::absent() : text_or_absent(facts->operation);
}
Value graphql_name(RequestContext& ctx, std::string_view) noexcept {
  const GraphqlFacts* facts = facts_of(ctx);
  return facts == nullptr ? Value::absent() : Value::of(facts->name);
}
Value graphql_root_fields(RequestContext& ctx, std::string_view) noexcept {
  const GraphqlFacts* facts = facts_of(ctx);
  return facts == nullptr ? Value::absent() : Value::of_list(facts->root_fields, facts->joined);
}

}  // namespace getters
}  // namespace sluice::sdk
