// prometheus: counts requests, octets and time per route, service, consumer and node, for scrapers of the metrics text.
//
// All work is in the log phase: the request's labels are hashed, and the series found under the hash in a table of this
// process are bumped in the worker's own cells. Only labels never seen before go to the shared catalogue. Who renders the
// text is sdk::Exposition; the listener is the admin process's, or a route with public-api where it has none.
#pragma once

#include <memory>
#include <span>

#include "conf/schema/table.hpp"
#include "plugins/prometheus/labels.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"
#include "shm/cells.hpp"

namespace sluice::sdk {
struct PublicApi;
}

namespace sluice::plugins::prometheus {

class Prometheus {
 public:
  struct Config {
    bool prefer_name = false;
  };
  static constexpr sdk::Traits kTraits{
      .name = "prometheus", .priority = 500, .version = "0.2", .run_policy = sdk::RunPolicy::prefer_route};

  static const schema::Table<Config>& table();
  static const schema::Node& metadata_schema();
  static Result<Prometheus> compile(Config config, sdk::CompileContext& context);
  static std::span<const sdk::PublicApi> public_apis();

  void log(sdk::RequestContext& ctx) const noexcept;

 private:
  bool prefer_name_ = false;
  std::shared_ptr<const LabelPlan> plan_;   // never null
  shm::Cells* cells_ = nullptr;             // nullptr outside a worker: nothing is counted
  shm::CellPage page_;
};

using Plugin = Prometheus;

}  // namespace sluice::plugins::prometheus
