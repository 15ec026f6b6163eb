#include "plugins/public-api/public_api.hpp"

#include "plugins/sdk/registry.hpp"

namespace sluice::plugins::public_api {

const schema::Table<PublicApi::Config>& PublicApi::table() {
  static const auto kTable = schema::table<Config>().field(
      "uri", &Config::uri, schema::string().doc("path of the endpoint to open; absent: the request's own path"));
  return kTable;
}

Result<PublicApi> PublicApi::compile(Config config, sdk::CompileContext&) {
  PublicApi made;
  made.uri_ = std::move(config.uri);
  return made;
}

sdk::Verdict PublicApi::access(sdk::RequestContext& ctx) const noexcept {
  const sdk::PublicApi* api = sdk::find_public_api(ctx.method, uri_.empty() ? ctx.path : std::string_view(uri_));
  return api == nullptr ? ctx.respond(404) : api->handle(ctx);
}

}  // namespace sluice::plugins::public_api
