// `upstream_*`: one value per attempt, joined with ", "; what is unknown is "-". No attempt: absent.
#include <charconv>

#include "plugins/sdk/variable_getters.hpp"

namespace sluice::sdk {

std::string_view seconds_text(Arena& arena, std::int64_t ns) noexcept {
  const std::int64_t ms = ns <= 0 ? 0 : ns / 1'000'000;
  char buffer[24];
  char* end = std::to_chars(buffer, buffer + 19, ms / 1000).ptr;
  *end++ = '.';
  const int rest = static_cast<int>(ms % 1000);
  *end++ = static_cast<char>('0' + rest / 100);
  *end++ = static_cast<char>('0' + rest / 10 % 10);
  *end++ = static_cast<char>('0' + rest % 10);
  return arena.copy({buffer, static_cast<std::size_t>(end - buffer)});
}

namespace getters {
namespace {

template <class Print>
Value each_attempt(RequestContext& ctx, Print print) noexcept {
  if (ctx.attempt_count == 0) return Value::absent();
  const std::size_t kept = std::min<std::size_t>(ctx.attempt_count, RequestContext::kMaxAttemptsKept);
  std::string_view all = print(ctx.attempts[0]);
  for (std::size_t i = 1; i < kept; ++i) all = ctx.arena.concat({all, ", ", print(ctx.attempts[i])});
  return Value::of(all);
}

std::string_view time_or_dash(Arena& arena, std::int64_t ns) noexcept {
  return ns < 0 ? std::string_view("-") : seconds_text(arena, ns);
}

}  // namespace

Value upstream_addr(RequestContext& ctx, std::string_view) noexcept {
  return each_attempt(ctx, [](const Attempt& a) { return a.address; });
}
Value upstream_status(RequestContext& ctx, std::string_view) noexcept {
  return each_attempt(ctx, [&](const Attempt& a) {
    return a.status == 0 ? std::string_view("-") : decimal(ctx.arena, a.status);
  });
}
Value upstream_response_time(RequestContext& ctx, std::string_view) noexcept {
  return each_attempt(ctx, [&](const Attempt& a) { return time_or_dash(ctx.arena, a.response_ns); });
}
Value upstream_connect_time(RequestContext& ctx, std::string_view) noexcept {
  return each_attempt(ctx, [&](const Attempt& a) { return time_or_dash(ctx.arena, a.connect_ns); });
}
Value upstream_header_time(RequestContext& ctx, std::string_view) noexcept {
  return each_attempt(ctx, [&](const Attempt& a) { return time_or_dash(ctx.arena, a.header_ns); });
}
Value upstream_response_length(RequestContext& ctx, std::string_view) noexcept {
  return each_attempt(ctx, [&](const Attempt& a) { return decimal(ctx.arena, a.body_received); });
}
Value upstream_bytes_sent(RequestContext& ctx, std::string_view) noexcept {
  return each_attempt(ctx, [&](const Attempt& a) { return decimal(ctx.arena, a.bytes_sent); });
}
Value upstream_bytes_received(RequestContext& ctx, std::string_view) noexcept {
  return each_attempt(ctx, [&](const Attempt& a) { return decimal(ctx.arena, a.bytes_received); });
}

}  // namespace getters
}  // namespace sluice::sdk
