#include "plugins/sdk/limits/refusal.hpp"

#include "conf/base/json.hpp"
#include "conf/base/log.hpp"

namespace sluice::sdk {

Refusal::Refusal(int status, const std::optional<std::string>& message) : status_(static_cast<std::uint16_t>(status)) {
  if (message) body_ = "{\"error_msg\":" + to_json(Json(rapidjson::StringRef(message->data(), message->size()))) + "}\n";
}

void log_limit_problem(std::string_view plugin, std::string_view what, std::string_view detail, TimePoint now) noexcept {
  constexpr int kPerSecond = 10;
  static thread_local std::int64_t second = -1;
  static thread_local int lines = 0;
  const std::int64_t this_second = to_ns(now) / 1'000'000'000;
  if (this_second != second) {
    second = this_second;
    lines = 0;
  }
  if (lines >= kPerSecond || !log::enabled(log::Level::error)) return;
  ++lines;
  Arena arena;
  log::error(arena.concat({plugin, ": ", what, detail.empty() ? "" : ": ", detail}));
}

}  // namespace sluice::sdk
