// Variables out of the request itself: query arguments, cookies, header fields, path parameters, form fields.
//
// Nothing is parsed ahead: a query or a Cookie field is scanned for the one name that is asked for. Names and values
// stay views into the head unless they are percent-encoded.
#include <array>
#include <charconv>

#include "conf/base/text.hpp"
#include "plugins/sdk/variable_getters.hpp"

namespace sluice::sdk {

std::string_view decimal(Arena& arena, std::uint64_t n) noexcept {
  char buffer[20];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, n).ptr;
  return arena.copy({buffer, static_cast<std::size_t>(end - buffer)});
}

Value text_or_absent(std::string_view text) noexcept { return text.empty() ? Value::absent() : Value::of(text); }

std::string_view decode_component(Arena& arena, std::string_view text) noexcept {
  if (text.find_first_of("%+") == std::string_view::npos) return text;
  char* out = static_cast<char*>(arena.allocate(text.size(), 1));
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && text::hex_value(text[i + 1]) >= 0 &&
        text::hex_value(text[i + 2]) >= 0) {
      out[n++] = static_cast<char>(text::hex_value(text[i + 1]) * 16 + text::hex_value(text[i + 2]));
      i += 2;
    } else {
      out[n++] = text[i] == '+' ? ' ' : text[i];
    }
  }
  return {out, n};
}

namespace {
bool same_component(Arena& arena, std::string_view encoded, std::string_view name) noexcept {
  if (encoded.size() < name.size()) return false;
  if (encoded.size() == name.size() && encoded == name) return true;
  if (encoded.find_first_of("%+") == std::string_view::npos) return false;
  return decode_component(arena, encoded) == name;
}
}  // namespace

Value find_pair(RequestContext& ctx, std::string_view pairs, std::string_view name, bool bare_is_true) noexcept {
  while (!pairs.empty()) {
    const auto amp = pairs.find('&');
    const std::string_view pair = pairs.substr(0, amp);
    const auto eq = pair.find('=');
    if (same_component(ctx.arena, pair.substr(0, eq), name)) {
      if (eq == std::string_view::npos) return bare_is_true ? Value::of_boolean(true) : Value::of("");
      return Value::of(decode_component(ctx.arena, pair.substr(eq + 1)));
    }
    if (amp == std::string_view::npos) break;
    pairs.remove_prefix(amp + 1);
  }
  return Value::absent();
}

namespace getters {

Value arg(RequestContext& ctx, std::string_view name) noexcept { return find_pair(ctx, ctx.query, name, true); }

Value cookie(RequestContext& ctx, std::string_view name) noexcept {
  Value found = Value::absent();
  for (const Field& f : ctx.request_headers) {
    if (f.id != FieldId::cookie) continue;
    std::string_view rest = f.value;
    while (!rest.empty()) {
      const auto semicolon = rest.find(';');
      const std::string_view pair = text::trim(rest.substr(0, semicolon));
      const auto eq = pair.find('=');
      if (eq == name.size() && pair.substr(0, eq) == name) found = Value::of(text::trim(pair.substr(eq + 1)));
      if (semicolon == std::string_view::npos) break;
      rest.remove_prefix(semicolon + 1);
    }
  }
  return found;
}

namespace {
// `variable` is lower case with '_' for '-'. `exact`: an underscore in the header is no other spelling of '-'.
bool names_match(std::string_view header, std::string_view variable, bool exact) noexcept {
  if (header.size() != variable.size()) return false;
  for (std::size_t i = 0; i < header.size(); ++i) {
    char c = text::lower(header[i]);
    if (c == '-') c = '_';
    else if (c == '_' && exact) return false;
    if (c != variable[i]) return false;
  }
  return true;
}

// Several fields of one name are one list, as RFC 9110 joins them.
Value joined(RequestContext& ctx, const HeaderList& list, std::string_view name, bool exact) noexcept {
  const Field* first = nullptr;
  std::size_t n = 0;
  for (const Field& f : list) {
    if (!names_match(f.name, name, exact)) continue;
    if (first == nullptr) first = &f;
    ++n;
  }
  if (n == 0) return Value::absent();
  if (n == 1) return Value::of(first->value);
  const std::string_view glue = name == "cookie" ? "; " : ", ";
  std::string_view all;
  for (const Field& f : list)
    if (names_match(f.name, name, exact)) all = &f == first ? f.value : ctx.arena.concat({all, glue, f.value});
  return Value::of(all);
}
}  // namespace

Value http(RequestContext& ctx, std::string_view name) noexcept {
  return joined(ctx, ctx.request_headers, name, false);
}
Value http_trusted(RequestContext& ctx, std::string_view name) noexcept {
  return joined(ctx, ctx.request_headers, name, true);
}
Value sent_http(RequestContext& ctx, std::string_view name) noexcept {
  return joined(ctx, ctx.response_headers, name, false);
}
Value upstream_http(RequestContext& ctx, std::string_view name) noexcept {
  return ctx.upstream_headers == nullptr ? Value::absent() : joined(ctx, *ctx.upstream_headers, name, false);
}

Value uri_param(RequestContext& ctx, std::string_view name) noexcept {
  for (const NamedText& p : ctx.uri_params)
    if (p.name == name) return Value::of(p.value);
  return Value::absent();
}

Value form_field(RequestContext& ctx, std::string_view name) noexcept {
  if (!ctx.request_body) return Value::absent();
  const Field* type = ctx.request_headers.find(FieldId::content_type);
  if (type == nullptr || !text::istarts_with(type->value, "application/x-www-form-urlencoded")) return Value::absent();
  return find_pair(ctx, *ctx.request_body, name, true);
}

Value forwarded_for(RequestContext& ctx, std::string_view) noexcept {
  const Value sent = http_trusted(ctx, "x_forwarded_for");
  if (!sent.exists() || sent.text.empty()) return Value::of(ctx.client_text);
  return Value::of(ctx.arena.concat({sent.text, ", ", ctx.client_text}));
}

namespace {
constexpr auto kBase64 = [] {
  std::array<std::int8_t, 256> t{};
  for (auto& v : t) v = -1;
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    t[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  return t;
}();
}  // namespace

Value remote_user(RequestContext& ctx, std::string_view) noexcept {
  const auto sent = ctx.request_headers.get("authorization");
  if (!sent || !text::istarts_with(*sent, "basic ")) return Value::absent();
  const std::string_view encoded = text::trim(sent->substr(6));
  char* out = static_cast<char*>(ctx.arena.allocate(encoded.size() + 1, 1));
  std::size_t n = 0;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : encoded) {
    if (c == '=') break;
    const int v = kBase64[static_cast<unsigned char>(c)];
    if (v < 0) return Value::absent();
    bits = bits << 6 | static_cast<std::uint32_t>(v);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out[n++] = static_cast<char>(bits >> have & 0xff);
  }
  const std::string_view decoded(out, n);
  const auto colon = decoded.find(':');
  return colon == std::string_view::npos ? Value::absent() : text_or_absent(decoded.substr(0, colon));
}

}  // namespace getters
}  // namespace sluice::sdk
