// PCRE2 behind pcre.hpp. One match context and one match block per thread, made at first use and reused.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "conf/base/pcre.hpp"

#include <pcre2.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr std::uint32_t kMatchLimit = 1'000'000;
constexpr std::uint32_t kDepthLimit = 10'000;
constexpr std::uint32_t kHeapKib = 16 * 1024;
constexpr std::size_t kMaxPattern = 64 * 1024;
constexpr std::size_t kJitStackMax = 1024 * 1024;

struct Scratch {
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_match_data* data = pcre2_match_data_create(Captures::kMax, nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 * 1024, kJitStackMax, nullptr);

  Scratch() {
    if (context == nullptr) return;
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_depth_limit(context, kDepthLimit);
    pcre2_set_heap_limit(context, kHeapKib);
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Scratch() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

Scratch& scratch() noexcept {
  thread_local Scratch s;
  return s;
}

std::uint32_t options_of(unsigned flags) noexcept {
  std::uint32_t options = PCRE2_NEVER_BACKSLASH_C;
  if (flags & Regex::caseless) options |= PCRE2_CASELESS;
  if (flags & Regex::multiline) options |= PCRE2_MULTILINE;
  if (flags & Regex::dotall) options |= PCRE2_DOTALL;
  if (flags & Regex::extended) options |= PCRE2_EXTENDED;
  if (flags & Regex::anchored) options |= PCRE2_ANCHORED;
  if (flags & Regex::utf) options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
  return options;
}

}  // namespace

Result<Regex> Regex::compile(std::string_view pattern, unsigned flags) {
  if (pattern.size() > kMaxPattern) return invalid("regular expression longer than 64 KiB");
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options_of(flags),
                                       &code, &offset, nullptr);
  if (compiled == nullptr) {
    PCRE2_UCHAR text[160] = {};
    pcre2_get_error_message(code, text, sizeof text);
    return invalid(std::string(reinterpret_cast<const char*>(text)) + " at offset " + std::to_string(offset) +
                   " in \"" + std::string(pattern) + "\"");
  }
  Regex regex;
  regex.code_ = std::shared_ptr<const pcre2_real_code_8>(
      compiled, [](const pcre2_code* c) { pcre2_code_free(const_cast<pcre2_code*>(c)); });
  pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);  // refused (no executable memory, odd pattern): interpreted
  std::uint32_t groups = 0;
  pcre2_pattern_info(compiled, PCRE2_INFO_CAPTURECOUNT, &groups);
  regex.group_count_ = groups;
  regex.pattern_ = std::make_shared<const std::string>(pattern);
  return regex;
}

bool Regex::search(std::string_view subject, std::size_t start) const noexcept {
  if (!code_ || start > subject.size()) return false;
  Scratch& s = scratch();
  if (s.data == nullptr) return false;
  // 0 means: matched, more groups than the block holds.
  return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), start, 0, s.data,
                     s.context) >= 0;
}

Regex::Outcome Regex::try_match(std::string_view subject, Captures& out, std::size_t start) const noexcept {
  out.count = 0;
  if (!code_ || start > subject.size()) return Outcome::unmatched;
  Scratch& s = scratch();
  if (s.data == nullptr) return Outcome::failed;
  const int rc = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), start, 0,
                             s.data, s.context);
  if (rc == PCRE2_ERROR_NOMATCH) return Outcome::unmatched;
  if (rc < 0) return Outcome::failed;
  const PCRE2_SIZE* spans = pcre2_get_ovector_pointer(s.data);
  const std::size_t set = rc == 0 ? Captures::kMax : static_cast<std::size_t>(rc);
  out.count = std::min(group_count_ + 1, Captures::kMax);
  for (std::size_t i = 0; i < out.count; ++i) {
    const bool present = i < set && spans[2 * i] != PCRE2_UNSET && spans[2 * i] <= spans[2 * i + 1];
    out.groups[i] = present ? subject.substr(spans[2 * i], spans[2 * i + 1] - spans[2 * i]) : std::string_view();
  }
  out.begin = spans[0];
  out.end = spans[1] < spans[0] ? spans[0] : spans[1];  // \K may put the start behind the end
  return Outcome::matched;
}

bool Regex::match(std::string_view subject, Captures& out, std::size_t start) const noexcept {
  return try_match(subject, out, start) == Outcome::matched;
}

}  // namespace sluice
