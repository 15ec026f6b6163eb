// public-api: opens an endpoint that another plugin offers (such as prometheus' metrics) on a route, so that the
// route's other plugins guard it.
#pragma once

#include <string>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::public_api {

class PublicApi {
 public:
  struct Config {
    std::string uri;
  };
  static constexpr sdk::Traits kTraits{.name = "public-api", .priority = 501};

  static const schema::Table<Config>& table();
  static Result<PublicApi> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;

 private:
  std::string uri_;  // empty: the request's own path
};

using Plugin = PublicApi;

}  // namespace sluice::plugins::public_api
