// CompiledRoute: a route as a request sees it: merged with its service and plugin config, plugins in order.
//
// Made at the first request after something it depends on has changed; immutable then. The upstream is reached through a
// cell that the upstream's own changes replace, so that a change of one upstream costs nothing per route.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/sdk/chain.hpp"
#include "plugins/sdk/ref.hpp"
#include "worker/live/upstream.hpp"
#include "worker/router/route.hpp"

namespace sluice::live {

// Where the upstream of an id is found; filled and emptied by the tables.
struct UpstreamCell : sdk::RefCounted {
  sdk::Ref<const Upstream> current;
};

// A chain that several routes may share.
struct SharedChain : sdk::RefCounted {
  sdk::OwnedChain chain;
};

struct CompiledRoute : sdk::RefCounted {
  std::string id, name, service_id, service_name;
  std::string resource_key;                                   // "/apisix/routes/1"
  std::vector<std::pair<std::string, std::string>> labels;

  // Answer this at once when it is not 0: 404 missing service, 503 missing plugin config or an object that did not
  // compile. The reason is for the log.
  std::uint16_t refuse_status = 0;
  std::string refuse_reason;

  bool enable_websocket = false;

  const sdk::Chain& chain() const noexcept { return chain_->chain.view(); }
  // Null when there is none; then upstream_status() says what the client gets (503 none configured, 502 its
  // upstream_id refers to nothing).
  const sdk::Ref<const Upstream>& upstream() const noexcept { return cell_ ? cell_->current : inline_; }
  std::uint16_t upstream_status() const noexcept { return upstream() ? 0 : (cell_ ? 502 : 503); }
  // route > upstream > node.
  const Timeouts& timeouts() const noexcept {
    if (route_timeouts_) return *route_timeouts_;
    const auto& u = upstream();
    return u ? u->timeouts() : default_timeouts_;
  }

 private:
  friend class RouteCompiler;
  sdk::Ref<const router::Route> matching_;        // whose texts the request context refers to
  sdk::Ref<const router::HostList> hosts_;
  sdk::Ref<const SharedChain> chain_;
  sdk::Ref<const UpstreamCell> cell_;
  sdk::Ref<const Upstream> inline_;
  std::optional<Timeouts> route_timeouts_;
  Timeouts default_timeouts_;
};

}  // namespace sluice::live
