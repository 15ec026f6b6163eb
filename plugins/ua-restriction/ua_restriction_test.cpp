#include "plugins/ua-restriction/ua_restriction.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::ua_restriction::UaRestriction;
using test::Kit;

namespace {
bool passes(const char* conf, std::vector<const char*> agents) {
  auto plugin = test::configured<UaRestriction>(conf);
  REQUIRE(plugin.has_value());
  Kit kit;
  for (const char* agent : agents) kit.ctx.request_headers.add("User-Agent", agent);
  const sdk::Verdict v = kit.access(*plugin);
  if (v.kind == sdk::Verdict::Kind::proceed) return true;
  CHECK(v.status == 403);
  CHECK(kit.reply() == "{\"message\":\"Not allowed\"}\n");
  return false;
}
}  // namespace

TEST_CASE("ua-restriction denies", "[plugins][ua-restriction]") {
  const char* conf = R"J({"denylist":["my-bot1","(Baiduspider)/(\\d+)\\.(\\d+)"]})J";
  CHECK_FALSE(passes(conf, {"my-bot1"}));
  CHECK_FALSE(passes(conf, {" my-bot1 "}));
  CHECK_FALSE(passes(conf, {"Baiduspider/3.0"}));
  CHECK_FALSE(passes(conf, {"my-bot2", "my-bot1"}));
  CHECK(passes(conf, {"foo/bar"}));
  CHECK(passes(conf, {"MY-BOT1"}));
  CHECK_FALSE(passes(conf, {}));
  CHECK(passes(R"({"denylist":["x"],"bypass_missing":true})", {}));
}

TEST_CASE("ua-restriction allows", "[plugins][ua-restriction]") {
  const char* conf = R"({"allowlist":["^my-bot\\d$"]})";
  CHECK(passes(conf, {"my-bot1"}));
  CHECK(passes(conf, {"foo/bar", "my-bot1"}));
  CHECK_FALSE(passes(conf, {"foo/bar"}));
  CHECK_FALSE(passes(conf, {}));
}
