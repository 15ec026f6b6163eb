// client-control: bounds the size of request bodies on a route, above or below the node's own limit.
//
// A stated length is judged at once; a chunked body while it is read, by the core.
#pragma once

#include <cstdint>
#include <optional>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::client_control {

class ClientControl {
 public:
  struct Config {
    std::optional<std::uint64_t> max_body_size;
  };
  static constexpr sdk::Traits kTraits{.name = "client-control", .priority = 22000};

  static const schema::Table<Config>& table();
  static Result<ClientControl> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;

 private:
  std::optional<std::uint64_t> limit_;
};

using Plugin = ClientControl;

}  // namespace sluice::plugins::client_control
