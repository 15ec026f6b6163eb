// Scanning for ${{…}}. What is not a well-formed reference stays as it is. Replaced text is not scanned again.
#include "conf/environment.hpp"

#include <cstdlib>

#include "conf/base/text.hpp"

namespace sluice::conf {
namespace {

bool is_name(std::string_view s) noexcept {
  if (s.empty()) return false;
  for (char c : s)
    if (!text::is_digit(c) && !(text::lower(c) >= 'a' && text::lower(c) <= 'z') && c != '_') return false;
  return true;
}

Json typed(const std::string& s, JsonDoc::AllocatorType& alloc) {
  if (s == "true" || s == "false") return Json(s == "true");
  if (const auto i = text::to_int<std::int64_t>(s)) return Json(*i);
  if (const auto d = text::to_double(s); d && (text::is_digit(s.back()) || s.back() == '.')) return Json(*d);
  return Json(s, alloc);
}

}  // namespace

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

Result<std::string> substitute_text(std::string_view text, const Environment& env, bool* used) {
  std::string out;
  while (true) {
    const auto open = text.find("${{");
    if (open == std::string_view::npos) break;
    const auto close = text.find("}}", open + 3);
    if (close == std::string_view::npos) break;
    const std::string_view inner = text::trim(text.substr(open + 3, close - open - 3));
    const auto assign = inner.find(":=");
    const std::string_view name = text::trim(inner.substr(0, assign));
    if (!is_name(name)) {
      out.append(text.substr(0, open + 3));
      text.remove_prefix(open + 3);
      continue;
    }
    out.append(text.substr(0, open));
    if (const auto value = env(name))
      out.append(*value);
    else if (assign != std::string_view::npos)
      out.append(text::trim(inner.substr(assign + 2)));
    else
      return invalid("can't find environment variable " + std::string(name));
    if (used != nullptr) *used = true;
    text.remove_prefix(close + 2);
  }
  out.append(text);
  return out;
}

Result<void> substitute_values(Json& value, JsonDoc::AllocatorType& alloc, const Environment& env) {
  if (value.IsString()) {
    bool used = false;
    auto replaced = substitute_text(text_of(value), env, &used);
    if (!replaced) return replaced.error();
    if (used) value = typed(*replaced, alloc);
  } else if (value.IsArray()) {
    for (auto& item : value.GetArray())
      if (auto done = substitute_values(item, alloc, env); !done) return done;
  } else if (value.IsObject()) {
    for (auto& m : value.GetObject()) {
      bool used = false;
      auto name = substitute_text(text_of(m.name), env, &used);
      if (!name) return name.error();
      if (used) m.name.SetString(*name, alloc);
      if (auto done = substitute_values(m.value, alloc, env); !done) return done;
    }
  }
  return {};
}

}  // namespace sluice::conf
