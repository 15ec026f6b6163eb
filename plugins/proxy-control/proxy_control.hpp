// proxy-control: whether a request body is gathered before it goes upstream. Bodies are always streamed here, with
// back-pressure and bounded memory, so that either setting is accepted and neither changes anything.
#pragma once

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::proxy_control {

class ProxyControl {
 public:
  struct Config {
    bool request_buffering = true;
  };
  static constexpr sdk::Traits kTraits{.name = "proxy-control", .priority = 21990};

  static const schema::Table<Config>& table();
  static Result<ProxyControl> compile(Config, sdk::CompileContext&) { return ProxyControl(); }
};

using Plugin = ProxyControl;

}  // namespace sluice::plugins::proxy_control
