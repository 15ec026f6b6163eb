// limit-count on the request path.
#include "plugins/limit-count/limit_count.hpp"

#include <algorithm>
#include <charconv>

#include "plugins/sdk/request_context.hpp"
#include "shm/catalog.hpp"

namespace sluice::plugins::limit_count {

using sdk::Quota;
using sdk::QuotaVerdict;
using sdk::RequestContext;
using sdk::Verdict;

static_assert(sizeof(sdk::FixedWindow) <= shm::kLimitCountBytes && sizeof(sdk::SlidingWindow) <= shm::kLimitCountBytes);

namespace {

// Kinds of records, so that a fixed and a sliding window of one key never meet. Sliding windows of different lengths are
// aligned differently: each length has its own record.
constexpr std::uint64_t kFixed = 1;
constexpr std::uint64_t kSliding = 2;

std::string_view number_text(sdk::Arena& arena, std::uint64_t n) noexcept {
  char buffer[20];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, n).ptr;
  return arena.copy({buffer, static_cast<std::size_t>(end - buffer)});
}

// "60", "59.98", "0.5".
std::string_view hundredths_text(sdk::Arena& arena, std::uint64_t hundredths) noexcept {
  char buffer[24];
  char* end = std::to_chars(buffer, buffer + 20, hundredths / 100).ptr;
  if (const auto rest = static_cast<int>(hundredths % 100); rest != 0) {
    *end++ = '.';
    *end++ = static_cast<char>('0' + rest / 10);
    if (rest % 10 != 0) *end++ = static_cast<char>('0' + rest % 10);
  }
  return arena.copy({buffer, static_cast<std::size_t>(end - buffer)});
}

// A key as a member of a JSON text.
std::string_view escaped(sdk::Arena& arena, std::string_view text) noexcept {
  const auto plain = [](char c) { return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20; };
  if (std::all_of(text.begin(), text.end(), plain)) return text;
  constexpr char kHex[] = "0123456789abcdef";
  char* const begin = static_cast<char*>(arena.allocate(text.size() * 6, 1));
  char* out = begin;
  for (const char c : text) {
    if (plain(c)) {
      *out++ = c;
    } else if (c == '"' || c == '\\') {
      *out++ = '\\';
      *out++ = c;
    } else {
      const char code[] = {'\\', 'u', '0', '0', kHex[static_cast<unsigned char>(c) >> 4], kHex[c & 15]};
      out = std::copy(std::begin(code), std::end(code), out);
    }
  }
  return {begin, static_cast<std::size_t>(out - begin)};
}

}  // namespace

shm::Key LimitCount::record_key(std::string_view raw_key, const Quota& quota) const noexcept {
  return place_.key(raw_key, sliding_ ? kSliding + (quota.seconds << 2) : kFixed);
}

// In `rules` the key comes first: a rule that does not apply is skipped, one that applies with a bad number fails.
LimitCount::Applies LimitCount::budget_of(const Rule& rule, RequestContext& ctx, Budget& out) const noexcept {
  out.rule = &rule;
  if (rule.from_list) {
    const auto expansion = rule.text.expand(ctx);
    if (expansion.resolved == 0) return Applies::skipped;
    out.key = expansion.text;
  }
  const auto count = rule.count.resolve(ctx);
  const auto window = rule.window.resolve(ctx);
  if (const std::string_view problem = count.problem.empty() ? window.problem : count.problem; !problem.empty()) {
    sdk::log_limit_problem(kTraits.name, "failed to get rate limit rules", problem, ctx.now);
    return Applies::broken;
  }
  out.quota = {count.number, window.number};
  if (!rule.from_list) out.key = rule.key.resolve(ctx);
  return Applies::yes;
}

QuotaVerdict LimitCount::count(const Budget& budget, TimePoint now, WallTime wall) const noexcept {
  QuotaVerdict verdict;
  const shm::Key key = record_key(budget.key, budget.quota);
  const auto update = [&]<class Window>(shm::Dict<Window> dict, auto&& judge) noexcept {
    dict.update(key, place_.owner(), budget.key, now, judge);
  };
  if (sliding_) {
    update(shm::Dict<sdk::SlidingWindow>(place_.catalog().limit_count()),
           [&](sdk::SlidingWindow& window, bool fresh, shm::RecordMeta& meta) noexcept {
             verdict = sdk::charge(window, fresh, budget.quota, 1, wall);
             if (!verdict.admitted) return meta.discard();
             meta.expires = sdk::forgettable(window, budget.quota, now);
             meta.limit = budget.quota.count;
           });
  } else {
    update(shm::Dict<sdk::FixedWindow>(place_.catalog().limit_count()),
           [&](sdk::FixedWindow& window, bool fresh, shm::RecordMeta& meta) noexcept {
             verdict = sdk::charge(window, fresh, budget.quota, 1, now);
             meta.expires = from_ns(window.ends_ns);
             meta.limit = budget.quota.count;
           });
  }
  return verdict;
}

QuotaVerdict LimitCount::peek(std::string_view raw_key, const Quota& quota, TimePoint now,
                              WallTime wall) const noexcept {
  const shm::Key key = record_key(raw_key, quota);
  if (sliding_) {
    sdk::SlidingWindow window;
    const bool there = shm::Dict<sdk::SlidingWindow>(place_.catalog().limit_count()).peek(key, now, window);
    return sdk::charge(window, !there, quota, 1, wall);
  }
  sdk::FixedWindow window;
  const bool there = shm::Dict<sdk::FixedWindow>(place_.catalog().limit_count()).peek(key, now, window);
  return sdk::charge(window, !there, quota, 1, now);
}

void LimitCount::set_fields(RequestContext& ctx, const Budget& budget, const QuotaVerdict& verdict) const noexcept {
  const std::string_view limit = number_text(ctx.arena, budget.quota.count);
  const std::string_view remaining = number_text(ctx.arena, verdict.remaining);
  const std::string_view seconds_up = number_text(ctx.arena, std::max<std::uint64_t>((verdict.reset_hundredths + 99) / 100, 1));
  if (show_fields_ && x_fields_) {
    const auto& names = budget.rule->names;
    ctx.response_headers.set(names[0], limit);
    ctx.response_headers.set(names[1], remaining);
    ctx.response_headers.set(names[2], hundredths_text(ctx.arena, verdict.reset_hundredths));
  }
  if (!ietf_fields_) return;
  if (show_fields_) {
    const std::string_view window = number_text(ctx.arena, budget.quota.seconds);
    ctx.response_headers.set("RateLimit-Policy", ctx.arena.concat({"\"default\";q=", limit, ";w=", window}));
    ctx.response_headers.set("RateLimit", ctx.arena.concat({"\"default\";r=", remaining, ";t=", seconds_up}));
  }
  if (!verdict.admitted && !dry_run_) ctx.response_headers.set("Retry-After", seconds_up);
}

void LimitCount::report(RequestContext& ctx, const Budget& budget, const QuotaVerdict& verdict) const noexcept {
  set_fields(ctx, budget, verdict);
  ctx.limit_plugin = kTraits.name;
  ctx.limit_key = budget.key;
  ctx.limit_remaining = static_cast<std::int64_t>(verdict.remaining);
  ctx.limit_verdict = verdict.admitted ? "admitted" : dry_run_ ? "would_refuse" : "refused";
  ctx.rate_limiting_info = ctx.arena.concat(
      {"{\"rate_limiting_key\":\"", escaped(ctx.arena, place_.full_key(ctx, budget.key)), "\",\"rate_limiting_limit\":",
       number_text(ctx.arena, budget.quota.count), ",\"rate_limiting_remaining\":",
       number_text(ctx.arena, verdict.remaining), ",\"rate_limiting_reset\":",
       number_text(ctx.arena, verdict.reset_hundredths / 100), "}"});
}

Verdict LimitCount::undecided(RequestContext& ctx) const noexcept {
  return allow_degradation_ ? Verdict::proceed() : ctx.respond(500);
}

Verdict LimitCount::access(RequestContext& ctx) const noexcept {
  if (bypass_.covers(ctx)) return Verdict::proceed();
  const auto budgets = ctx.arena.array<Budget>(rules_.size());
  std::size_t applying = 0;
  for (const Rule& rule : rules_) {
    switch (budget_of(rule, ctx, budgets[applying])) {
      case Applies::yes: ++applying; break;
      case Applies::skipped: break;
      case Applies::broken: return undecided(ctx);
    }
  }
  if (applying == 0) {
    sdk::log_limit_problem(kTraits.name, "no rule applies to the request: key resolves to nothing",
                           rules_.empty() ? std::string_view() : rules_.front().text.source(), ctx.now);
    return undecided(ctx);
  }
  for (const Budget& budget : budgets.first(applying)) {
    const QuotaVerdict verdict = count(budget, ctx.now, ctx.wall);
    report(ctx, budget, verdict);
    if (!verdict.admitted && !dry_run_) return refusal_.answer(ctx);
  }
  return Verdict::proceed();
}

}  // namespace sluice::plugins::limit_count
