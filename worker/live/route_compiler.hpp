// RouteCompiler: a route record and what it refers to, merged into what a request needs.
#pragma once

#include "worker/live/records.hpp"

namespace sluice::live {

class RouteCompiler {
 public:
  // Merge rules: plugins route > plugin config > service, each whole; upstream, enable_websocket and labels of the
  // route, else of the service; timeout and name of the route alone.
  static sdk::Ref<const CompiledRoute> make(RouteRecord& record, const Timeouts& default_timeouts);

 private:
  static sdk::Ref<const SharedChain> chain_of(const RouteRecord& record);
  static void set_upstream(const RouteRecord& record, CompiledRoute& out);
};

}  // namespace sluice::live
