#include "plugins/ip-restriction/ip_restriction.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::ip_restriction::IpRestriction;
using test::Kit;

namespace {
std::string asked(const char* conf, const char* ip) {
  auto plugin = test::configured<IpRestriction>(conf);
  if (!plugin) return plugin.error().reason;
  Kit kit;
  kit.from(ip);
  const sdk::Verdict v = kit.access(*plugin);
  return v.kind == sdk::Verdict::Kind::proceed ? "pass" : std::to_string(v.status) + " " + kit.reply();
}
}  // namespace

TEST_CASE("ip-restriction lets listed addresses pass", "[plugins][ip-restriction]") {
  const char* conf = R"({"whitelist":["127.0.0.0/24","113.74.26.106","2001:db8::/64"]})";
  CHECK(asked(conf, "127.0.0.1") == "pass");
  CHECK(asked(conf, "113.74.26.106") == "pass");
  CHECK(asked(conf, "2001:db8::2") == "pass");
  CHECK(asked(conf, "114.114.114.114") == "403 {\"message\":\"Your IP address is not allowed\"}\n");
  CHECK(asked(conf, "2001:db9::2") == "403 {\"message\":\"Your IP address is not allowed\"}\n");
}

TEST_CASE("ip-restriction refuses listed addresses", "[plugins][ip-restriction]") {
  const char* conf = R"({"blacklist":["::1","fe80::/32"],"message":"no","response_code":404})";
  CHECK(asked(conf, "127.0.0.1") == "pass");
  CHECK(asked(conf, "::1") == "404 {\"message\":\"no\"}\n");
  CHECK(asked(conf, "fe80::1:1") == "404 {\"message\":\"no\"}\n");
  CHECK(asked(R"({"blacklist":["10.0.0.0/8"]})", "::ffff:10.1.2.3") ==
        "403 {\"message\":\"Your IP address is not allowed\"}\n");
}
