// proxy-control: whether a request body is gathered before the request goes upstream, so that a slow client does not hold
// a node. Gathered bodies lie in memory up to `sluice.limits.body_spill`, beyond that in an unnamed file; what is larger
// than the node lets anybody gather (`apisix.max_post_args_readable_size`) streams.
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
  static Result<ProxyControl> compile(Config config, sdk::CompileContext&) {
    ProxyControl made;
    made.gather_ = config.request_buffering;
    return made;
  }
  sdk::BodyNeeds body_needs() const noexcept { return {.request_body = gather_}; }

 private:
  bool gather_ = true;
};

using Plugin = ProxyControl;

}  // namespace sluice::plugins::proxy_control
