#include "plugins/sdk/process_host.hpp"

namespace sluice::sdk {

namespace {
const PluginHost* g_host = nullptr;
}

const PluginHost* process_host() noexcept { return g_host; }
void set_process_host(const PluginHost* host) noexcept { g_host = host; }

}  // namespace sluice::sdk
