#include "plugins/echo/echo.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::echo::Echo;
using test::Kit;

namespace {
std::string echoed(const char* conf, const std::vector<std::string>& chunks) {
  auto plugin = test::configured<Echo>(conf);
  if (!plugin) return plugin.error().reason;
  Kit kit;
  kit.header_filter(*plugin);
  return kit.body(*plugin, chunks);
}
}  // namespace

TEST_CASE("echo surrounds or replaces the body", "[plugins][echo]") {
  CHECK(echoed(R"({"before_body":"A","after_body":"Z"})", {"m"}) == "AmZ");
  CHECK(echoed(R"({"before_body":"A","after_body":"Z"})", {"m", "n", ""}) == "AmnZ");
  CHECK(echoed(R"({"body":"B","after_body":"Z"})", {"m", "n"}) == "BZ");
  CHECK(echoed(R"({"before_body":"A","body":"B","after_body":"Z"})", {""}) == "ABZ");
  CHECK(echoed(R"({"body":""})", {"m"}).empty());
}

TEST_CASE("echo sets fields and forgets those of the old body", "[plugins][echo]") {
  auto plugin = test::configured<Echo>(R"({"before_body":"A","headers":{"Location":"$uri","X-N":7,"X-Gone":""}})");
  REQUIRE(plugin.has_value());
  CHECK(plugin->needs.alters_length);
  Kit kit;
  kit.answer_header("Content-Length", "3").answer_header("ETag", "1").answer_header("X-Gone", "1");
  kit.header_filter(*plugin);
  CHECK(kit.sent_down("Location") == "$uri|");
  CHECK(kit.sent_down("X-N") == "7|");
  CHECK(kit.sent_down("X-Gone").empty());
  CHECK(kit.sent_down("Content-Length").empty());
  CHECK(kit.sent_down("ETag").empty());
  CHECK(kit.ctx.response_body_replaced);
}
