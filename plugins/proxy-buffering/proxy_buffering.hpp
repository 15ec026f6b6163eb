// proxy-buffering: whether answers are gathered before they go to the client. Answers are always streamed here as they
// come, with back-pressure and bounded memory, so that either setting is accepted and neither changes anything.
#pragma once

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::proxy_buffering {

class ProxyBuffering {
 public:
  struct Config {
    bool disable_proxy_buffering = false;
  };
  static constexpr sdk::Traits kTraits{.name = "proxy-buffering", .priority = 21991};

  static const schema::Table<Config>& table();
  static Result<ProxyBuffering> compile(Config, sdk::CompileContext&) { return ProxyBuffering(); }
};

using Plugin = ProxyBuffering;

}  // namespace sluice::plugins::proxy_buffering
