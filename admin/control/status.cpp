#include "admin/control/status.hpp"

#include <optional>
#include <string>

#include "admin/api/answers.hpp"

namespace sluice::admin {

std::string Status::not_ready() const {
  int seen = 0;
  std::optional<std::uint32_t> waiting;
  table_.for_each([&](std::uint32_t, const shm::WorkerStatus& worker) {
    if (worker.role.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(shm::WorkerRole::worker)) return;
    if (worker.generation.load(std::memory_order_relaxed) != generation_) return;
    ++seen;
    if (worker.ready.load(std::memory_order_acquire) == 0 && !waiting)
      waiting = worker.number.load(std::memory_order_relaxed);
  });
  if (waiting) return "worker id: " + std::to_string(*waiting) + " has not received configuration";
  if (seen < workers_)
    return "worker count: " + std::to_string(workers_) + " but status report count: " + std::to_string(seen);
  return {};
}

void Status::handle(const std::shared_ptr<const http::Request>& request, const http::Respond& respond) {
  const bool read = request->method == "GET" || request->method == "HEAD";
  if (read && request->path == "/status") return respond(json_answer(200, "{\"status\":\"ok\"}"));
  if (!read || request->path != "/status/ready") return respond(http::error_page(404));
  const std::string why = not_ready();
  if (why.empty()) return respond(json_answer(200, "{\"status\":\"ok\"}"));
  respond(json_answer(503, "{\"status\":\"error\",\"error\":" + json_string(why) + "}"));
}

}  // namespace sluice::admin
