// The metrics text as an endpoint of a route: for nodes whose own metrics listener is switched off.
#pragma once

#include <string_view>

#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/verdict.hpp"

namespace sluice::plugins::prometheus {

// plugin_attr.prometheus.export_uri when `enable_export_server` is false; else empty: not offered.
std::string_view public_address() noexcept;

sdk::Verdict serve_metrics(sdk::RequestContext& ctx) noexcept;

}  // namespace sluice::plugins::prometheus
