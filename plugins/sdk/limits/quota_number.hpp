// A number of a limiter's configuration: as it stands, or a template that is resolved per request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/template.hpp"

namespace sluice::sdk {

class Arena;
class RequestContext;

class QuotaNumber {
 public:
  using Source = std::variant<std::int64_t, std::string>;
  QuotaNumber() = default;
  // `zero_allowed`: burst; otherwise the number must be above zero.
  QuotaNumber(const Source& source, bool zero_allowed, CompileContext& context);

  struct Resolved {
    std::uint64_t number = 0;
    std::string_view problem;   // empty when fine; else the reason, in the request's arena
  };
  Resolved resolve(RequestContext& ctx) const noexcept;
  bool constant() const noexcept { return !is_text_; }

 private:
  std::uint64_t number_ = 0;
  bool is_text_ = false;
  bool zero_allowed_ = false;
  Template text_;
};

// What a resolved text means: the whole number, or why it is none. Exposed for tests.
QuotaNumber::Resolved quota_number(std::string_view text, bool zero_allowed, Arena& arena) noexcept;

}  // namespace sluice::sdk
