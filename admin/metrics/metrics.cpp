// See metrics.hpp.
#include "admin/metrics/metrics.hpp"

#include "conf/base/cidr.hpp"

namespace sluice::admin {

namespace {
constexpr const char* kStatusUri = "/apisix/nginx_status";

bool is_local(const IpAddress& peer) noexcept {
  static const auto range = Cidr::parse("127.0.0.0/24");
  return range && range->contains(peer);
}
}  // namespace

std::string stub_status_text(const shm::WorkerTotals& t) {
  const auto n = [](std::uint64_t v) { return std::to_string(v); };
  return "Active connections: " + n(t.active) + " \nserver accepts handled requests\n " + n(t.accepted) + " " +
         n(t.handled) + " " + n(t.requests) + " \nReading: " + n(t.reading) + " Writing: " + n(t.writing) +
         " Waiting: " + n(t.waiting) + " \n";
}

http::Response Metrics::answer(const http::Request& request) const {
  http::Response response;
  response.content_type = "text/plain; charset=utf-8";
  if (request.method == "GET" && request.path == kStatusUri) {
    if (!is_local(request.peer)) return http::error_page(403);
    response.content_type = "text/plain";
    response.body = stub_status_text(workers_.totals());
    return response;
  }
  if (request.method != "GET" || request.path != options_.export_uri) return http::error_page(404);
  response.body = !options_.enabled || options_.enabled() ? options_.render() : std::string("{}");
  return response;
}

void Metrics::handle(const std::shared_ptr<const http::Request>& request, http::Respond respond) const {
  respond(answer(*request));
}

}  // namespace sluice::admin
