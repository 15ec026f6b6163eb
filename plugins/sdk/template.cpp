#include "plugins/sdk/template.hpp"

#include "conf/base/text.hpp"
#include "plugins/sdk/request_context.hpp"

namespace sluice::sdk {

namespace {
bool name_char(char c) noexcept {
  return c == '_' || c == '.' || text::is_digit(c) || (text::lower(c) >= 'a' && text::lower(c) <= 'z');
}
}  // namespace

Template Template::compile(std::string_view text) {
  Template t;
  t.source_ = text;
  std::string literal;
  const auto reference = [&](std::string_view name, std::optional<std::string_view> fallback) {
    Part part;
    part.literal = std::move(literal);
    literal.clear();
    part.variable = Variable::compile(name);
    part.reference = true;
    part.has_fallback = fallback.has_value();
    if (fallback) part.fallback = *fallback;
    t.needs_body_ |= part.variable.needs_request_body();
    ++t.references_;
    t.parts_.push_back(std::move(part));
  };
  for (std::size_t i = 0; i < text.size();) {
    const bool escaped = i > 0 && text[i - 1] == '\\';
    if (text[i] != '$' || escaped || i + 1 == text.size()) {
      literal.push_back(text[i++]);
      continue;
    }
    if (text[i + 1] == '{') {
      const auto close = text.find('}', i + 2);
      const std::string_view inner =
          close == std::string_view::npos ? std::string_view() : text.substr(i + 2, close - i - 2);
      const auto mark = inner.find("??");
      const std::string_view name = text::trim(inner.substr(0, mark));
      if (name.empty()) {
        literal.push_back(text[i++]);
        continue;
      }
      std::optional<std::string_view> fallback;
      if (mark != std::string_view::npos) {
        std::string_view rest = inner.substr(mark + 2);
        fallback = text::trim(rest.substr(0, rest.find("??")));
      }
      reference(name, fallback);
      i = close + 1;
      continue;
    }
    std::size_t end = i + 1;
    while (end < text.size() && name_char(text[end])) ++end;
    if (end == i + 1) {
      literal.push_back(text[i++]);
      continue;
    }
    reference(text.substr(i + 1, end - i - 1), std::nullopt);
    i = end;
  }
  if (!literal.empty()) {
    Part part;
    part.literal = std::move(literal);
    t.parts_.push_back(std::move(part));
  }
  return t;
}

Template::Expansion Template::expand(RequestContext& ctx) const noexcept { return expand(ctx, nullptr); }

Template::Expansion Template::expand(RequestContext& ctx, Edit edit) const noexcept {
  Expansion out;
  out.references = references_;
  if (references_ == 0) {
    out.text = source_;
    return out;
  }
  const auto values = ctx.arena.array<std::string_view>(parts_.size());
  std::size_t total = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    total += part.literal.size();
    if (!part.reference) continue;
    if (const Value v = part.variable.get(ctx); v.exists()) {
      values[i] = edit == nullptr ? v.text : edit(ctx, v.text);
      ++out.resolved;
    } else if (part.has_fallback) {
      values[i] = part.fallback;
      ++out.resolved;
    }
    total += values[i].size();
  }
  if (parts_.size() == 1 && parts_[0].literal.empty()) {
    out.text = values[0].data() == nullptr ? std::string_view("", 0) : values[0];
    return out;
  }
  char* const begin = static_cast<char*>(ctx.arena.allocate(total + 1, 1));
  char* at = begin;
  const auto append = [&at](std::string_view s) {
    if (!s.empty()) std::memcpy(at, s.data(), s.size());
    at += s.size();
  };
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    append(parts_[i].literal);
    append(values[i]);
  }
  out.text = {begin, total};
  return out;
}

}  // namespace sluice::sdk
