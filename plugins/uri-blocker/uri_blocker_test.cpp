#include "plugins/uri-blocker/uri_blocker.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::uri_blocker::UriBlocker;
using test::Kit;

namespace {
std::string asked(const char* conf, const char* target) {
  auto plugin = test::configured<UriBlocker>(conf);
  if (!plugin) return plugin.error().reason;
  Kit kit(target);
  const sdk::Verdict v = kit.rewrite(*plugin);
  return v.kind == sdk::Verdict::Kind::proceed ? "pass" : std::to_string(v.status) + " " + kit.reply();
}
}  // namespace

TEST_CASE("uri-blocker looks at path and query", "[plugins][uri-blocker]") {
  const char* conf = R"({"block_rules":["root.exe","select.+from"]})";
  CHECK(asked(conf, "/a?x=select%20a%20from") == "403 (none)");
  CHECK(asked(conf, "/root.exe") == "403 (none)");
  CHECK(asked(conf, "/ROOT.exe") == "pass");
  CHECK(asked(conf, "/a?x=1") == "pass");
  CHECK(asked(R"({"block_rules":["root"],"case_insensitive":true,"rejected_msg":"no","rejected_code":404})", "/ROOT") ==
        "404 {\"error_msg\":\"no\"}\n");
  CHECK(asked(R"({"block_rules":[]})", "/a") == "403 (none)");
}

TEST_CASE("uri-blocker blocks what its patterns cannot decide on", "[plugins][uri-blocker]") {
  const std::string target = "/" + std::string(4000, 'a') + "!";
  CHECK(asked(R"J({"block_rules":["^/(a+)+$"]})J", target.c_str()) == "403 (none)");
}
