// The standing things of this process for what has no configuration of its own: endpoints that plugins offer.
#pragma once

namespace sluice::sdk {

struct PluginHost;

// The host that plugins of this process were last compiled with; nullptr before the first. Set by compile_plugin_conf.
const PluginHost* process_host() noexcept;
void set_process_host(const PluginHost* host) noexcept;

}  // namespace sluice::sdk
