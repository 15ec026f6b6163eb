// Template: text with `$name`, `${name}`, `${name ?? default}`, compiled once and expanded per request.
//
// Rules: an absent variable without default gives nothing; a default is literal and counts as resolved; an existing
// empty value does not use the default; `\$` is left as it stands, backslash included.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/result.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::sdk {

class RequestContext;

class Template {
 public:
  struct Expansion {
    std::string_view text;    // in the request's arena, or the template's own text when it has no reference
    unsigned resolved = 0;    // references that had a value or a default
    unsigned references = 0;
  };

  Template() = default;
  static Template compile(std::string_view text);

  Expansion expand(RequestContext& ctx) const noexcept;
  // Each value passes through `edit` (may be nullptr) before it is inserted.
  using Edit = std::string_view (*)(RequestContext&, std::string_view) noexcept;
  Expansion expand(RequestContext& ctx, Edit edit) const noexcept;

  const std::string& source() const noexcept { return source_; }
  bool constant() const noexcept { return references_ == 0; }
  bool needs_request_body() const noexcept { return needs_body_; }

 private:
  struct Part {
    std::string literal;      // text before the reference, or the only text
    Variable variable;
    std::string fallback;
    bool reference = false;
    bool has_fallback = false;
  };
  std::string source_;
  std::vector<Part> parts_;
  unsigned references_ = 0;
  bool needs_body_ = false;
};

}  // namespace sluice::sdk
