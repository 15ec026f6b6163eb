// The metrics listener: GET <export_uri> gives the exposition text, GET /apisix/nginx_status the connection counters.
//
// The text is rendered at the scrape from the live cells of all workers, so it is never older than the answer. What
// renders it is passed in, so that this folder knows nothing of metrics' names.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admin/http/message.hpp"
#include "shm/worker_table.hpp"

namespace sluice::admin {

struct MetricsOptions {
  std::string export_uri = "/apisix/prometheus/metrics";
  std::function<std::string()> render;  // the whole exposition text
  std::function<bool()> enabled;        // false: the plugin is switched off at run time; the text is then `{}`
};

class Metrics {
 public:
  Metrics(MetricsOptions options, const shm::WorkerTable& workers) : options_(std::move(options)), workers_(workers) {}

  void handle(const std::shared_ptr<const http::Request>& request, http::Respond respond) const;

 private:
  http::Response answer(const http::Request& request) const;

  MetricsOptions options_;
  const shm::WorkerTable& workers_;
};

// Connection counters in the stub-status form.
std::string stub_status_text(const shm::WorkerTotals& totals);

}  // namespace sluice::admin
