#include "plugins/mocking/example.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>

#include "conf/base/text.hpp"
#include "plugins/sdk/chance.hpp"
#include "plugins/sdk/json_text.hpp"

namespace sluice::plugins::mocking {

using sdk::RequestContext;

namespace {
constexpr std::size_t kMaxBytes = 1u << 20;  // of one body
constexpr std::size_t kMostItems = 3;        // of an array
constexpr std::size_t kMostLetters = 10;     // of a text
constexpr std::uint64_t kLargest = 10000;    // of a number
}  // namespace

// Text that grows in the arena of the request. Full: what comes later is dropped, and full() says so.
class Example::Writer {
 public:
  explicit Writer(RequestContext& ctx) noexcept : ctx_(ctx) {}

  RequestContext& context() noexcept { return ctx_; }
  bool full() const noexcept { return size_ >= kMaxBytes; }
  std::string_view text() const noexcept { return {buffer_.data() == nullptr ? "" : buffer_.data(), size_}; }

  void put(std::string_view piece) noexcept {
    if (piece.empty()) return;
    if (piece.size() > buffer_.size() - size_) {
      const std::size_t room = std::max({size_ + piece.size(), buffer_.size() * 2, std::size_t{256}});
      char* const bigger = static_cast<char*>(ctx_.arena.allocate(room, 1));
      if (size_ > 0) std::memcpy(bigger, buffer_.data(), size_);
      buffer_ = {bigger, room};
    }
    std::memcpy(buffer_.data() + size_, piece.data(), piece.size());
    size_ += piece.size();
  }
  void put_number(std::uint64_t n) noexcept {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
    put({digits, static_cast<std::size_t>(end - digits)});
  }
  void put_xml(std::string_view text) noexcept {
    for (const char c : text) {
      switch (c) {
        case '<':
          put("&lt;");
          break;
        case '>':
          put("&gt;");
          break;
        case '&':
          put("&amp;");
          break;
        case '"':
          put("&quot;");
          break;
        default:
          put({&c, 1});
      }
    }
  }

 private:
  RequestContext& ctx_;
  std::span<char> buffer_;
  std::size_t size_ = 0;
};

Example Example::compile(const Json& schema, sdk::CompileContext& context) {
  Example made;
  const Json* properties = find(schema, "properties");
  const Json* items = find(schema, "items");
  const Json* example = find(schema, "example");
  const Json* type_field = find(schema, "type");
  std::string_view type = type_field == nullptr ? std::string_view() : text_of(*type_field);
  if (type.empty()) type = properties != nullptr ? "object" : items != nullptr ? "array" : "";

  const auto number = [example](bool whole) -> std::optional<std::string> {
    if (example == nullptr) return std::nullopt;
    std::optional<double> value;
    if (example->IsNumber()) value = example->GetDouble();
    if (example->IsString()) value = text::to_double(text_of(*example));
    if (!value || !std::isfinite(*value)) return std::nullopt;
    return number_text(whole ? std::floor(*value) : *value);
  };
  if (text::iequal(type, "object")) {
    made.kind_ = Kind::object;
    if (properties != nullptr && properties->IsObject())
      for (const auto& m : properties->GetObject())
        made.members_.emplace_back(std::string(text_of(m.name)), compile(m.value, context));
  } else if (text::iequal(type, "array")) {
    made.kind_ = Kind::array;
    if (items != nullptr) made.item_.push_back(compile(*items, context));
  } else if (text::iequal(type, "string")) {
    made.kind_ = Kind::text;
    if (example != nullptr && example->IsString()) made.text_ = context.text(text_of(*example));
  } else if (text::iequal(type, "number")) {
    made.kind_ = Kind::number;
    made.fixed_ = number(false);
  } else if (text::iequal(type, "integer")) {
    made.kind_ = Kind::integer;
    made.fixed_ = number(true);
  } else if (text::iequal(type, "boolean")) {
    made.kind_ = Kind::boolean;
    if (example != nullptr && example->IsBool()) made.fixed_ = example->GetBool() ? "true" : "false";
  }
  return made;
}

void Example::write_scalar(Writer& out, bool quoted) const noexcept {
  if (kind_ == Kind::text) {
    std::string_view text;
    char letters[kMostLetters];
    if (text_) {
      text = text_->expand(out.context()).text;
    } else {
      const std::size_t n = 1 + sdk::random_below(kMostLetters);
      for (std::size_t i = 0; i < n; ++i) letters[i] = static_cast<char>('a' + sdk::random_below(26));
      text = {letters, n};
    }
    if (quoted)
      out.put(sdk::json_string(out.context().arena, text));
    else
      out.put_xml(text);
  } else if (fixed_) {
    out.put(*fixed_);
  } else if (kind_ == Kind::number) {
    out.put_number(sdk::random_below(kLargest + 1));
  } else if (kind_ == Kind::integer) {
    out.put_number(1 + sdk::random_below(kLargest));
  } else if (kind_ == Kind::boolean) {
    out.put(sdk::random_below(2) == 0 ? "false" : "true");
  } else if (quoted) {
    out.put("null");
  }
}

void Example::write_json(Writer& out) const noexcept {
  if (out.full()) {
    out.put("null");  // keeps the text well-formed
    return;
  }
  if (kind_ == Kind::object) {
    out.put("{");
    bool first = true;
    for (const auto& [name, member] : members_) {
      if (!first) out.put(",");
      first = false;
      out.put(sdk::json_string(out.context().arena, name));
      out.put(":");
      member.write_json(out);
    }
    out.put("}");
  } else if (kind_ == Kind::array) {
    out.put("[");
    const std::size_t n = item_.empty() ? 0 : 1 + sdk::random_below(kMostItems);
    for (std::size_t i = 0; i < n && !out.full(); ++i) {
      if (i > 0) out.put(",");
      item_[0].write_json(out);
    }
    out.put("]");
  } else {
    write_scalar(out, true);
  }
}

void Example::write_xml(Writer& out, std::string_view tag) const noexcept {
  if (kind_ == Kind::array) {  // one element per item, all of the array's name
    const std::size_t n = item_.empty() ? 0 : 1 + sdk::random_below(kMostItems);
    for (std::size_t i = 0; i < n && !out.full(); ++i) item_[0].write_xml(out, tag);
    return;
  }
  out.put("<");
  out.put(tag);
  out.put(">");
  if (kind_ == Kind::object) {
    for (const auto& [name, member] : members_)
      if (!out.full()) member.write_xml(out, name);
  } else {
    write_scalar(out, false);
  }
  out.put("</");
  out.put(tag);
  out.put(">");
}

std::string_view Example::json(RequestContext& ctx) const noexcept {
  Writer out(ctx);
  write_json(out);
  return out.text();
}

std::string_view Example::xml(RequestContext& ctx, std::string_view root) const noexcept {
  Writer out(ctx);
  write_xml(out, root);
  return out.text();
}

}  // namespace sluice::plugins::mocking
