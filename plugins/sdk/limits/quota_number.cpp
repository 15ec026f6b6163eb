#include "plugins/sdk/limits/quota_number.hpp"

#include <cmath>

#include "conf/base/text.hpp"
#include "plugins/sdk/request_context.hpp"

namespace sluice::sdk {

namespace {
constexpr double kSafeInteger = 9007199254740991.0;
}

QuotaNumber::QuotaNumber(const Source& source, bool zero_allowed, CompileContext& context)
    : zero_allowed_(zero_allowed) {
  if (const auto* number = std::get_if<std::int64_t>(&source)) {
    number_ = static_cast<std::uint64_t>(*number);
  } else {
    is_text_ = true;
    text_ = context.text(std::get<std::string>(source));
  }
}

QuotaNumber::Resolved quota_number(std::string_view given, bool zero_allowed, Arena& arena) noexcept {
  const std::string_view trimmed = text::trim(given);
  const auto number = text::to_double(!trimmed.empty() && trimmed.front() == '+' ? trimmed.substr(1) : trimmed);
  if (!number || !std::isfinite(*number)) return {0, arena.concat({"resolved value is not a number: ", given})};
  if (zero_allowed ? *number < 0 : *number <= 0)
    return {0, arena.concat({"resolved value must be a ", zero_allowed ? "non-negative" : "positive", " number, got: ", given})};
  if (*number > kSafeInteger)
    return {0, arena.concat({"resolved value exceeds safe integer range (2^53-1), got: ", given})};
  if (*number != std::floor(*number)) return {0, arena.concat({"resolved value must be an integer, got: ", given})};
  return {static_cast<std::uint64_t>(*number), {}};
}

QuotaNumber::Resolved QuotaNumber::resolve(RequestContext& ctx) const noexcept {
  if (!is_text_) return {number_, {}};
  return quota_number(text_.expand(ctx).text, zero_allowed_, ctx.arena);
}

}  // namespace sluice::sdk
