#include "plugins/referer-restriction/referer_restriction.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::referer_restriction::RefererRestriction;
using test::Kit;

namespace {
bool passes(const char* conf, const char* referer) {
  auto plugin = test::configured<RefererRestriction>(conf);
  REQUIRE(plugin.has_value());
  Kit kit;
  if (referer != nullptr) kit.header("Referer", referer);
  const sdk::Verdict v = kit.access(*plugin);
  if (v.kind == sdk::Verdict::Kind::proceed) return true;
  CHECK(v.status == 403);
  CHECK(kit.reply() == "{\"message\":\"Your referer host is not allowed\"}\n");
  return false;
}
}  // namespace

TEST_CASE("referer-restriction lets listed hosts pass", "[plugins][referer-restriction]") {
  const char* conf = R"({"whitelist":["*.xx.com","yy.com","[::1]"]})";
  CHECK(passes(conf, "http://www.xx.com/p"));
  CHECK(passes(conf, "https://yy.com"));
  CHECK(passes(conf, "https://YY.com:8443/a?b#c"));
  CHECK(passes(conf, "http://user@yy.com/"));
  CHECK(passes(conf, "http://[::1]:80/"));
  CHECK_FALSE(passes(conf, "http://xx.com"));
  CHECK_FALSE(passes(conf, "http://a.yy.com"));
  CHECK_FALSE(passes(conf, "ftp://yy.com"));
  CHECK_FALSE(passes(conf, "yy.com"));
  CHECK_FALSE(passes(conf, "http://[::1"));
  CHECK_FALSE(passes(conf, "http://yy.com@evil.org/"));
  CHECK_FALSE(passes(conf, nullptr));
}

TEST_CASE("referer-restriction refuses listed hosts", "[plugins][referer-restriction]") {
  const char* conf = R"({"blacklist":["*.xx.com"],"bypass_missing":true})";
  CHECK(passes(conf, nullptr));
  CHECK(passes(conf, "nonsense"));
  CHECK(passes(conf, "http://yy.com"));
  CHECK_FALSE(passes(conf, "http://a.xx.com"));
  CHECK_FALSE(passes(R"({"blacklist":["*"]})", "http://a.xx.com"));
}
