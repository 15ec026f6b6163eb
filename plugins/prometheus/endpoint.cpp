#include "plugins/prometheus/endpoint.hpp"

#include <exception>
#include <memory>

#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/exposition.hpp"
#include "plugins/sdk/process_host.hpp"

namespace sluice::plugins::prometheus {

namespace {

constexpr std::string_view kNoData = "{\"message\":\"Failed to retrieve metrics: no data available\"}\n";

const Json* attributes() noexcept {
  const sdk::PluginHost* host = sdk::process_host();
  return host == nullptr || host->plugin_attr == nullptr ? nullptr : find(*host->plugin_attr, "prometheus");
}

}  // namespace

std::string_view public_address() noexcept {
  const Json* attr = attributes();
  if (attr == nullptr) return {};
  const Json* own_listener = find(*attr, "enable_export_server");
  if (own_listener == nullptr || !own_listener->IsBool() || own_listener->GetBool()) return {};
  const Json* uri = find(*attr, "export_uri");
  return uri == nullptr || !uri->IsString() ? std::string_view("/apisix/prometheus/metrics") : text_of(*uri);
}

sdk::Verdict serve_metrics(sdk::RequestContext& ctx) noexcept {
  const sdk::PluginHost* host = sdk::process_host();
  if (host == nullptr || host->catalog == nullptr) return ctx.respond(500, kNoData, "application/json");
  try {
    // Kept between scrapes: it remembers when series with `expire` last moved.
    static thread_local std::unique_ptr<sdk::Exposition> exposition;
    if (!exposition) exposition = std::make_unique<sdk::Exposition>(*host->catalog, attributes());
    return ctx.respond(200, ctx.arena.copy(exposition->render(ctx.now)), "text/plain");
  } catch (const std::exception&) {
    return ctx.respond(500, kNoData, "application/json");
  }
}

}  // namespace sluice::plugins::prometheus
