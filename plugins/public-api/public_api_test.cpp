#include "plugins/public-api/public_api.hpp"

#include <catch2/catch.hpp>

#include "plugins/sdk/registry.hpp"
#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::public_api::PublicApi;
using test::Kit;

TEST_CASE("public-api answers 404 for what no plugin offers", "[plugins][public-api]") {
  auto own_path = test::configured<PublicApi>("{}");
  auto given = test::configured<PublicApi>(R"({"uri":"/apisix/none"})");
  REQUIRE(own_path.has_value());
  REQUIRE(given.has_value());
  Kit kit("/apisix/none");
  CHECK(kit.access(*own_path).status == 404);
  CHECK(kit.access(*given).status == 404);
  CHECK(kit.reply() == "(none)");
}

TEST_CASE("public-api hands the request to the endpoint", "[plugins][public-api]") {
  for (const auto& type : sdk::all_plugins()) {
    for (const auto& api : type.public_apis) {
      const std::string_view uri = api.uri_now == nullptr ? api.uri : api.uri_now();
      if (uri.empty()) continue;  // not offered with this node file
      CAPTURE(api.method, uri);
      auto plugin = test::configured<PublicApi>(R"({"uri":")" + std::string(uri) + "\"}");
      REQUIRE(plugin.has_value());
      Kit wrong("/m", "PROPFIND");
      CHECK(wrong.access(*plugin).status == 404);
      CHECK(sdk::find_public_api(api.method, uri) == &api);
    }
  }
}
