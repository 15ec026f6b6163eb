// The RapidJSON side of json.hpp.
//
// Input is hostile: depth is measured before parsing (values are destroyed and printed recursively), the parser is the
// iterative one, strings must be UTF-8. Duplicate members are folded after parsing (the last wins), so that no two
// readers of one document can disagree about a member.
#include "conf/base/json.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sluice {
namespace {

constexpr unsigned kParseFlags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;

std::string position_text(std::string_view text, std::size_t offset) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

std::string_view name_of(const Json::Member& m) noexcept { return {m.name.GetString(), m.name.GetStringLength()}; }

bool has_duplicates(const Json& object) {
  const auto n = object.MemberCount();
  if (n <= 12) {
    for (auto a = object.MemberBegin(); a != object.MemberEnd(); ++a)
      for (auto b = a + 1; b != object.MemberEnd(); ++b)
        if (a->name == b->name) return true;
    return false;
  }
  std::unordered_set<std::string_view> seen(n);
  for (auto& m : object.GetObject())
    if (!seen.insert({m.name.GetString(), m.name.GetStringLength()}).second) return true;
  return false;
}

// Stands between RapidJSON's reader and the document. The reader converts fractions either inexactly or, when told to be
// exact, into an arbitrary number for a zero with an exponent beyond 22 (0e40, 0.0e50); so they are converted here, from
// the text that the reader has just accepted.
struct Builder {
  JsonDoc& doc;
  const rapidjson::MemoryStream& stream;
  using Size = rapidjson::SizeType;

  bool Null() { return doc.Null(); }
  bool Bool(bool b) { return doc.Bool(b); }
  bool Int(int i) { return doc.Int(i); }
  bool Uint(unsigned i) { return doc.Uint(i); }
  bool Int64(std::int64_t i) { return doc.Int64(i); }
  bool Uint64(std::uint64_t i) { return doc.Uint64(i); }
  bool Double(double d) {
    const std::string_view text = number_before({stream.begin_, stream.Tell()});
    double exact = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), exact).ec == std::errc()) return doc.Double(exact);
    if (!(std::abs(d) < 1)) return false;  // too big
    return doc.Double(text.starts_with('-') ? -0.0 : 0.0);
  }
  bool RawNumber(const char* text, Size n, bool copy) { return doc.RawNumber(text, n, copy); }
  bool String(const char* text, Size n, bool copy) { return doc.String(text, n, copy); }
  bool Key(const char* text, Size n, bool copy) { return doc.Key(text, n, copy); }
  bool StartObject() { return doc.StartObject(); }
  bool EndObject(Size members) { return doc.EndObject(members); }
  bool StartArray() { return doc.StartArray(); }
  bool EndArray(Size items) { return doc.EndArray(items); }

  static std::string_view number_before(std::string_view text) noexcept {
    const auto before = text.find_last_not_of("0123456789+-.eE");
    return before == std::string_view::npos ? text : text.substr(before + 1);
  }
};

// RapidJSON prints 2.0 as "2.0"; JSON users of this program expect the number as Lua would print it.
class LuaWriter : public rapidjson::Writer<rapidjson::StringBuffer> {
 public:
  using Base = rapidjson::Writer<rapidjson::StringBuffer>;
  using Base::Base;
  bool Double(double d) {
    const std::string text = number_text(d);
    return RawValue(text.data(), text.size(), rapidjson::kNumberType);
  }
};

void write_sorted(const Json& value, LuaWriter& out) {
  if (value.IsArray()) {
    out.StartArray();
    for (const auto& item : value.GetArray()) write_sorted(item, out);
    out.EndArray();
    return;
  }
  if (value.IsObject()) {
    std::vector<const Json::Member*> members;
    members.reserve(value.MemberCount());
    for (const auto& m : value.GetObject()) members.push_back(&m);
    std::sort(members.begin(), members.end(), [](auto* a, auto* b) { return name_of(*a) < name_of(*b); });
    out.StartObject();
    for (const auto* m : members) {
      out.Key(m->name.GetString(), m->name.GetStringLength());
      write_sorted(m->value, out);
    }
    out.EndObject();
    return;
  }
  value.Accept(out);
}

}  // namespace

void fold_duplicate_members(Json& value, JsonDoc::AllocatorType& alloc) {
  if (value.IsArray()) {
    for (auto& item : value.GetArray()) fold_duplicate_members(item, alloc);
    return;
  }
  if (!value.IsObject()) return;
  if (has_duplicates(value)) {
    Json folded(rapidjson::kObjectType);
    std::unordered_map<std::string_view, rapidjson::SizeType> place;
    for (auto& m : value.GetObject()) {
      const std::string_view name{m.name.GetString(), m.name.GetStringLength()};
      const auto [it, fresh] = place.emplace(name, folded.MemberCount());
      if (fresh) {
        // The map's view must outlive the moves inside `folded`: it looks at a text in the allocator.
        char* text = static_cast<char*>(alloc.Malloc(name.size() + 1));
        std::copy(name.begin(), name.end(), text);
        text[name.size()] = 0;
        place.erase(it);
        place.emplace(std::string_view(text, name.size()), folded.MemberCount());
        Json owned(text, static_cast<rapidjson::SizeType>(name.size()), alloc);
        folded.AddMember(owned, m.value, alloc);
      } else {
        (folded.MemberBegin() + it->second)->value = m.value;
      }
    }
    value = folded;
  }
  for (auto& m : value.GetObject()) fold_duplicate_members(m.value, alloc);
}

std::size_t json_too_deep_at(std::string_view text, unsigned max_depth) noexcept {
  unsigned depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
      continue;
    }
    if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_depth) return i;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return std::string_view::npos;
}

Result<JsonDoc> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    return Error{Errc::too_large,
                 {},
                 "JSON text of " + std::to_string(text.size()) + " bytes is over the limit of " +
                     std::to_string(limits.max_bytes),
                 "json",
                 false};
  if (const auto at = json_too_deep_at(text, limits.max_depth); at != std::string_view::npos)
    return invalid("nested deeper than " + std::to_string(limits.max_depth) + " levels at " + position_text(text, at));
  JsonDoc doc;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::ParseResult parsed;
  auto read = [&](JsonDoc& into) {
    rapidjson::Reader reader;
    Builder builder{into, stream};
    parsed = reader.Parse<kParseFlags>(stream, builder);
    return !parsed.IsError();
  };
  doc.Populate(read);
  if (parsed.IsError()) {
    const bool refused = parsed.Code() == rapidjson::kParseErrorTermination;  // by Builder::Double
    std::string reason = rapidjson::GetParseError_En(refused ? rapidjson::kParseErrorNumberTooBig : parsed.Code());
    if (!reason.empty() && reason.back() == '.') reason.pop_back();
    return invalid(reason + " at " + position_text(text, parsed.Offset()));
  }
  fold_duplicate_members(doc, doc.GetAllocator());
  return doc;
}

std::string to_json(const Json& value) {
  rapidjson::StringBuffer buffer;
  LuaWriter writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string canonical_json(const Json& value) {
  rapidjson::StringBuffer buffer;
  LuaWriter writer(buffer);
  write_sorted(value, writer);
  return {buffer.GetString(), buffer.GetSize()};
}

const Json* find(const Json& object, std::string_view name) noexcept {
  if (!object.IsObject()) return nullptr;
  for (auto it = object.MemberBegin(); it != object.MemberEnd(); ++it)
    if (name_of(*it) == name) return &it->value;
  return nullptr;
}

std::string_view text_of(const Json& value) noexcept {
  return value.IsString() ? std::string_view(value.GetString(), value.GetStringLength()) : std::string_view();
}

const char* type_name(const Json& value) noexcept {
  switch (value.GetType()) {
    case rapidjson::kObjectType:
      return "object";
    case rapidjson::kArrayType:
      return "array";
    case rapidjson::kStringType:
      return "string";
    case rapidjson::kNumberType:
      return "number";
    case rapidjson::kNullType:
      return "null";
    default:
      return "boolean";
  }
}

std::string number_text(double value) {
  char buffer[40];
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  std::snprintf(buffer, sizeof buffer, "%.14g", value);
  return buffer;
}

void set_member(Json& object, std::string_view name, Json value, JsonDoc::AllocatorType& alloc) {
  for (auto it = object.MemberBegin(); it != object.MemberEnd(); ++it) {
    if (name_of(*it) != name) continue;
    it->value = value;
    return;
  }
  Json key(name.data(), static_cast<rapidjson::SizeType>(name.size()), alloc);
  object.AddMember(key, value, alloc);
}

void merge_json(Json& into, const Json& from, JsonDoc::AllocatorType& alloc) {
  if (!from.IsObject() || !into.IsObject()) {
    into = copy_json(from, alloc);
    return;
  }
  for (const auto& m : from.GetObject()) {
    const std::string_view name = name_of(m);
    Json* old = const_cast<Json*>(find(into, name));
    if (m.value.IsNull()) {
      if (old != nullptr) into.EraseMember(Json(rapidjson::StringRef(name.data(), name.size())));
    } else if (old != nullptr && old->IsObject() && m.value.IsObject()) {
      merge_json(*old, m.value, alloc);
    } else {
      set_member(into, name, copy_json(m.value, alloc), alloc);
    }
  }
}

Json copy_json(const Json& value, JsonDoc::AllocatorType& alloc) {
  switch (value.GetType()) {
    case rapidjson::kObjectType: {
      Json out(rapidjson::kObjectType);
      for (const auto& m : value.GetObject()) out.AddMember(copy_json(m.name, alloc), copy_json(m.value, alloc), alloc);
      return out;
    }
    case rapidjson::kArrayType: {
      Json out(rapidjson::kArrayType);
      out.Reserve(value.Size(), alloc);
      for (const auto& item : value.GetArray()) out.PushBack(copy_json(item, alloc), alloc);
      return out;
    }
    case rapidjson::kStringType:
      return Json(value.GetString(), value.GetStringLength(), alloc);
    default:
      return Json(value, alloc);
  }
}

bool equal_json(const Json& a, const Json& b) noexcept {
  if (a.IsNumber() && b.IsNumber()) {
    if (a.IsUint64() && b.IsUint64()) return a.GetUint64() == b.GetUint64();
    if (a.IsInt64() && b.IsInt64()) return a.GetInt64() == b.GetInt64();
    return a.GetDouble() == b.GetDouble();
  }
  if (a.GetType() != b.GetType()) return false;
  if (a.IsString()) return text_of(a) == text_of(b);
  if (a.IsArray()) {
    if (a.Size() != b.Size()) return false;
    for (rapidjson::SizeType i = 0; i < a.Size(); ++i)
      if (!equal_json(a[i], b[i])) return false;
    return true;
  }
  if (a.IsObject()) {
    if (a.MemberCount() != b.MemberCount()) return false;
    // Equal documents mostly keep their order: look at the same place first.
    auto hint = b.MemberBegin();
    for (auto it = a.MemberBegin(); it != a.MemberEnd(); ++it, ++hint) {
      const Json* other = name_of(*hint) == name_of(*it) ? &hint->value : find(b, name_of(*it));
      if (other == nullptr || !equal_json(it->value, *other)) return false;
    }
    return true;
  }
  return true;
}

}  // namespace sluice
