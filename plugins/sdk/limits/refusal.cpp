#include "plugins/sdk/limits/refusal.hpp"

#include "conf/base/json.hpp"
#include "conf/base/log.hpp"

namespace sluice::sdk {

Refusal::Refusal(int status, const std::optional<std::string>& message) : status_(static_cast<std::uint16_t>(status)) {
  if (message) body_ = "{\"error_msg\":" + to_json(Json(rapidjson::StringRef(message->data(), message->size()))) + "}\n";
}

void log_limit_problem(std::string_view plugin, std::string_view what, std::string_view detail, TimePoint now) noexcept {
  static thread_local log::Pace pace(10);
  if (!log::enabled(log::Level::error) || !pace.admit(now)) return;
  Arena arena;
  log::error(arena.concat({plugin, ": ", what, detail.empty() ? "" : ": ", detail}));
}

}  // namespace sluice::sdk
