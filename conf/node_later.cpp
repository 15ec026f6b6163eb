// Keys that are understood and checked but have no effect in this build. Each one that a node file gives is said once at
// the start, so that nobody relies on it.
#include "conf/node_reader.hpp"

namespace sluice::conf {
namespace {

struct Later {
  const char* path;
  const char* why;
};

constexpr Later kLater[] = {
    {"deployment.admin.enable_admin_ui", "there is no dashboard yet"},
    {"apisix.enable_reuseport", "all workers share one listening socket per address"},
    {"apisix.control.router", "the Control API's paths are fixed"},
    {"apisix.disable_upstream_healthcheck", "active health checks are not built yet"},
    {"apisix.id", "nothing reports the id of the node yet"},
    {"apisix.lru", "secret references are not resolved yet"},
    {"apisix.tracing", "tracing is not built yet"},
    {"apisix.proxy_cache", "the proxy cache is not built yet"},
    {"apisix.proxy_protocol.enable_tcp_pp_to_upstream", "proxying of streams is not built yet"},
    {"nginx_config.envs", "environment references in plugins are not resolved yet"},
    {"nginx_config.http.proxy_ssl_server_name", "upstream TLS is not built yet"},
    {"nginx_config.stream", "proxying of streams is not built yet"},
    {"sluice.history", "revisions of the configuration are not served yet"},
    {"sluice.reuseport", "all workers share one listening socket per address"},
    {"sluice.seccomp", "system calls are not filtered yet"},
    {"sluice.trust_user_lua", "Lua functions are not run yet"},
};

}  // namespace

void say_without_effect(Reader& in) {
  for (const Later& key : kLater)
    if (const Json* v = in.value(key.path); v != nullptr && !v->IsNull())
      in.notice(std::string(key.path) + " (" + in.place(key.path) + ") has no effect: " + key.why);
}

}  // namespace sluice::conf
