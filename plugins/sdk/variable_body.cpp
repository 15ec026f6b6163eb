// `post_arg.<path>`: values out of a JSON, form or multipart body.
//
// A JSON body is parsed once per request into the request's arena (iterative parser, nesting bounded before it starts),
// then each variable walks it. A dotted path gives the one value there; a path with `[`, `*` or `..` is a JSONPath and
// gives the list of its hits. Understood: .name ['name'] [n] [-n] [a:b] [*] .* ..name ..* and unions [1,2] ['a','b'].
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <charconv>

#include "conf/base/text.hpp"
#include "conf/base/json.hpp"
#include "plugins/sdk/variable_getters.hpp"

namespace sluice::sdk {
namespace {

constexpr unsigned kMaxNesting = 128;
constexpr std::size_t kMaxHits = 1024;

// RapidJSON's allocator interface over the arena: nothing is freed before the request ends.
class ArenaAllocator {
 public:
  static constexpr bool kNeedFree = false;
  ArenaAllocator() = default;
  explicit ArenaAllocator(Arena& arena) noexcept : arena_(&arena) {}
  void* Malloc(std::size_t n) noexcept { return n == 0 ? nullptr : arena_->allocate(n); }
  void* Realloc(void* old, std::size_t had, std::size_t n) noexcept {
    if (n == 0) return nullptr;
    if (n <= had) return old;
    void* fresh = arena_->allocate(n);
    if (had != 0) std::memcpy(fresh, old, had);
    return fresh;
  }
  static void Free(void*) noexcept {}

 private:
  Arena* arena_ = nullptr;
};

using Node = rapidjson::GenericValue<rapidjson::UTF8<>, ArenaAllocator>;
using Doc = rapidjson::GenericDocument<rapidjson::UTF8<>, ArenaAllocator, ArenaAllocator>;

}  // namespace

struct JsonBody {
  ArenaAllocator allocator;
  Doc document;
  explicit JsonBody(Arena& arena) : allocator(arena), document(&allocator, 1024, &allocator) {}
};

namespace {

const Node* json_of(RequestContext& ctx) noexcept {
  VariableCache& cache = cache_of(ctx);
  if (cache.json_state == VariableCache::State::unknown) {
    cache.json_state = VariableCache::State::absent;
    const std::string_view body = *ctx.request_body;
    const std::size_t limit = variable_limits().max_post_args_bytes;
    if ((limit == 0 || body.size() <= limit) && json_too_deep_at(body, kMaxNesting) == std::string_view::npos) {
      // Never destroyed: all it owns is the arena's.
      auto* parsed = new (ctx.arena.allocate(sizeof(JsonBody), alignof(JsonBody))) JsonBody(ctx.arena);
      parsed->document.Parse<rapidjson::kParseIterativeFlag>(body.data(), body.size());
      if (!parsed->document.HasParseError()) {
        cache.json = parsed;
        cache.json_state = VariableCache::State::present;
      }
    }
  }
  return cache.json == nullptr ? nullptr : &cache.json->document;
}

const Node* member(const Node& object, std::string_view name) noexcept {
  if (!object.IsObject()) return nullptr;
  for (auto it = object.MemberBegin(); it != object.MemberEnd(); ++it)
    if (std::string_view(it->name.GetString(), it->name.GetStringLength()) == name) return &it->value;
  return nullptr;
}

std::string_view number_view(Arena& arena, const Node& n) noexcept {
  char buffer[32];
  if (n.IsUint64()) return decimal(arena, n.GetUint64());
  const auto end =
      n.IsInt64() ? std::to_chars(buffer, buffer + sizeof buffer, n.GetInt64()).ptr
                  : std::to_chars(buffer, buffer + sizeof buffer, n.GetDouble(), std::chars_format::general, 14).ptr;
  return arena.copy({buffer, static_cast<std::size_t>(end - buffer)});
}

std::string_view printed(Arena& arena, const Node& n) noexcept {
  if (n.IsString()) return {n.GetString(), n.GetStringLength()};
  if (n.IsBool()) return n.GetBool() ? "true" : "false";
  if (n.IsNumber()) return number_view(arena, n);
  if (n.IsNull()) return "null";
  rapidjson::StringBuffer out;
  rapidjson::Writer<rapidjson::StringBuffer> writer(out);
  n.Accept(writer);
  return arena.copy({out.GetString(), out.GetSize()});
}

Value list_value(RequestContext& ctx, std::span<const std::string_view> items) noexcept {
  std::size_t total = items.empty() ? 0 : items.size() - 1;
  for (auto item : items) total += item.size();
  char* text = static_cast<char*>(ctx.arena.allocate(total + 1, 1));
  std::size_t n = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) text[n++] = ',';
    if (!items[i].empty()) std::memcpy(text + n, items[i].data(), items[i].size());
    n += items[i].size();
  }
  return Value::of_list(items, {text, n});
}

Value value_of(RequestContext& ctx, const Node& n) noexcept {
  if (n.IsNull()) return Value::absent();
  if (n.IsBool()) return Value::of_boolean(n.GetBool());
  if (n.IsNumber()) return Value::of_number(n.GetDouble(), number_view(ctx.arena, n));
  if (n.IsArray()) {
    auto items = ctx.arena.array<std::string_view>(n.Size());
    for (rapidjson::SizeType i = 0; i < n.Size(); ++i) items[i] = printed(ctx.arena, n[i]);
    return list_value(ctx, items);
  }
  return Value::of(printed(ctx.arena, n));
}

// ---- JSONPath
struct Hits {
  std::span<const Node*> found;
  std::size_t count = 0;
  void add(const Node& n) noexcept {
    if (count < found.size()) found[count++] = &n;
  }
};

void walk(const Node& at, std::string_view path, Hits& hits) noexcept;

template <class F>
void each_child(const Node& at, F f) noexcept {
  if (at.IsObject())
    for (auto it = at.MemberBegin(); it != at.MemberEnd(); ++it) f(it->value);
  else if (at.IsArray())
    for (const Node& item : at.GetArray()) f(item);
}

// `step` applied to `at` and to everything below it.
void descend(const Node& at, std::string_view path, Hits& hits) noexcept {
  if (hits.count == hits.found.size()) return;
  walk(at, path, hits);
  each_child(at, [&](const Node& child) { descend(child, path, hits); });
}

// One selector between brackets: *, a quoted name, an index, or a slice.
void select(const Node& at, std::string_view selector, std::string_view rest, Hits& hits) noexcept {
  selector = text::trim(selector);
  if (selector == "*") return each_child(at, [&](const Node& child) { walk(child, rest, hits); });
  if (selector.size() >= 2 && (selector.front() == '\'' || selector.front() == '"')) {
    if (const Node* found = member(at, selector.substr(1, selector.size() - 2))) walk(*found, rest, hits);
    return;
  }
  if (!at.IsArray()) {
    if (const Node* found = member(at, selector)) walk(*found, rest, hits);
    return;
  }
  const auto size = static_cast<std::int64_t>(at.Size());
  const auto colon = selector.find(':');
  std::int64_t from = 0, to = size;
  if (colon == std::string_view::npos) {
    const auto index = text::to_int<std::int32_t>(selector);
    if (!index) return;
    from = *index < 0 ? size + *index : *index;
    to = from + 1;
  } else {
    if (const auto n = text::to_int<std::int32_t>(selector.substr(0, colon))) from = *n < 0 ? size + *n : *n;
    if (const auto n = text::to_int<std::int32_t>(selector.substr(colon + 1))) to = *n < 0 ? size + *n : *n;
  }
  for (std::int64_t i = std::max<std::int64_t>(from, 0); i < std::min(to, size); ++i)
    walk(at[static_cast<rapidjson::SizeType>(i)], rest, hits);
}

// Depth is bounded by the path's length and, for `..`, by the nesting of the document.
void walk(const Node& at, std::string_view path, Hits& hits) noexcept {
  if (path.empty()) return hits.add(at);
  if (path.starts_with("..")) {
    path.remove_prefix(2);
    if (path.empty()) return;
    if (path.front() == '[') return descend(at, path, hits);
    const auto end = path.find_first_of(".[");
    const std::string_view name = path.substr(0, end);
    const std::string_view rest = end == std::string_view::npos ? std::string_view() : path.substr(end);
    struct Deep {
      std::string_view name, rest;
      Hits& hits;
      void operator()(const Node& n) const noexcept {
        if (hits.count == hits.found.size()) return;
        if (name == "*")
          each_child(n, [&](const Node& child) { walk(child, rest, hits); });
        else if (const Node* found = member(n, name))
          walk(*found, rest, hits);
        each_child(n, *this);
      }
    };
    return Deep{name, rest, hits}(at);
  }
  if (path.front() == '[') {
    const auto end = path.find(']');
    if (end == std::string_view::npos) return;
    std::string_view selectors = path.substr(1, end - 1);
    const std::string_view rest = path.substr(end + 1);
    while (true) {
      const auto comma = selectors.find(',');
      select(at, selectors.substr(0, comma), rest, hits);
      if (comma == std::string_view::npos) return;
      selectors.remove_prefix(comma + 1);
    }
  }
  if (path.front() == '.') path.remove_prefix(1);
  const auto end = path.find_first_of(".[");
  const std::string_view name = path.substr(0, end);
  const std::string_view rest = end == std::string_view::npos ? std::string_view() : path.substr(end);
  if (name == "*") return each_child(at, [&](const Node& child) { walk(child, rest, hits); });
  if (const Node* found = member(at, name)) walk(*found, rest, hits);
}

Value json_path(RequestContext& ctx, const Node& root, std::string_view path) noexcept {
  std::array<const Node*, kMaxHits> room;
  Hits hits{room};
  if (path.starts_with("$")) path.remove_prefix(1);
  walk(root, path, hits);
  if (hits.count == 0) return Value::absent();
  auto items = ctx.arena.array<std::string_view>(hits.count);
  for (std::size_t i = 0; i < hits.count; ++i) items[i] = printed(ctx.arena, *hits.found[i]);
  return list_value(ctx, items);
}

Value dotted(RequestContext& ctx, const Node& root, std::string_view path) noexcept {
  const Node* at = &root;
  while (at != nullptr) {
    const auto dot = path.find('.');
    at = member(*at, path.substr(0, dot));
    if (at == nullptr) break;
    if (dot == std::string_view::npos) return value_of(ctx, *at);
    path.remove_prefix(dot + 1);
  }
  return Value::absent();
}

// ---- multipart/form-data: the first part of that name.
std::string_view parameter_of(std::string_view field, std::string_view name) noexcept {
  for (std::size_t at = 0; (at = field.find(name, at)) != std::string_view::npos; at += name.size()) {
    const char before = at == 0 ? ';' : field[at - 1];
    if ((before != ';' && before != ' ') || at + name.size() >= field.size() || field[at + name.size()] != '=')
      continue;
    std::string_view value = field.substr(at + name.size() + 1);
    if (!value.empty() && value.front() == '"') {
      value.remove_prefix(1);
      return value.substr(0, value.find('"'));
    }
    return text::trim(value.substr(0, value.find(';')));
  }
  return {};
}

// The next line without its end, LF or CRLF; `text` goes on after it.
std::string_view take_line(std::string_view& text) noexcept {
  const auto end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The content of the part whose name is asked for. Parts are separated by "--<boundary>" at the start of a line.
Value multipart(RequestContext& ctx, std::string_view type, std::string_view name) noexcept {
  const std::string_view boundary = parameter_of(type, "boundary");
  std::string_view body = *ctx.request_body;
  const std::size_t limit = variable_limits().max_post_args_bytes;
  if (boundary.empty() || (limit != 0 && body.size() > limit)) return Value::absent();
  const std::string_view next = ctx.arena.concat({"\n--", boundary});
  const std::string_view mark = next.substr(1);
  auto at = body.find(mark);
  while (at != std::string_view::npos) {
    body.remove_prefix(at + mark.size());
    if (!text::trim(take_line(body)).empty()) return Value::absent();  // "--": the end
    bool found = false;
    while (true) {
      if (body.empty()) return Value::absent();
      const std::string_view line = take_line(body);
      if (line.empty()) break;
      found |= text::istarts_with(line, "content-disposition:") && parameter_of(line, "name") == name;
    }
    const auto end = body.starts_with(mark) ? 0 : body.find(next);
    std::string_view content = body.substr(0, end);
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (found) return Value::of(content);
    if (end == std::string_view::npos) break;
    body.remove_prefix(end);
    at = body.find(mark);
  }
  return Value::absent();
}

// What stands between brackets: *, a quoted name, a bare name, an index or a slice; several by commas.
bool is_selector(std::string_view selectors) noexcept {
  for (std::string_view one : text::split(selectors, ',')) {
    one = text::trim(one);
    if (one.starts_with('?') || one.starts_with('(')) return true;  // a filter: not looked into
    if (one.empty() || one.find_first_of(".[") != std::string_view::npos) {
      const bool quoted = one.size() >= 2 && (one.front() == '\'' || one.front() == '"') && one.back() == one.front();
      if (!quoted) return false;
    }
  }
  return true;
}

}  // namespace

namespace getters {

Value post_arg_path(RequestContext& ctx, std::string_view path) noexcept {
  if (!ctx.request_body) return Value::absent();
  const Field* type = ctx.request_headers.find(FieldId::content_type);
  if (type == nullptr) return Value::absent();
  if (text::istarts_with(type->value, "application/x-www-form-urlencoded"))
    return find_pair(ctx, *ctx.request_body, path, true);
  if (text::istarts_with(type->value, "multipart/form-data")) return multipart(ctx, type->value, path);
  if (!text::istarts_with(type->value, "application/json")) return Value::absent();
  const Node* root = json_of(ctx);
  if (root == nullptr) return Value::absent();
  const bool is_json_path =
      path.find_first_of("[*") != std::string_view::npos || path.find("..") != std::string_view::npos;
  return is_json_path ? json_path(ctx, *root, path) : dotted(ctx, *root, path);
}

std::string_view json_path_fault(std::string_view path) noexcept {
  for (auto at = path.find('['); at != std::string_view::npos; at = path.find('[', at + 1)) {
    const auto end = path.find(']', at);
    if (end == std::string_view::npos || !is_selector(path.substr(at + 1, end - at - 1))) return path.substr(at);
    at = end;
  }
  return {};
}

}  // namespace getters
}  // namespace sluice::sdk
