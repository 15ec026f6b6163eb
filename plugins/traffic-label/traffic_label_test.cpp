#include "plugins/traffic-label/traffic_label.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::traffic_label::TrafficLabel;
using test::Kit;

namespace {
std::string labelled(const char* conf, const char* target) {
  auto plugin = test::configured<TrafficLabel>(conf);
  if (!plugin) return plugin.error().reason;
  Kit kit(target);
  kit.header("X-Server-Id", "old");
  kit.access(*plugin);
  return kit.sent_up("X-Server-Id");
}
}  // namespace

TEST_CASE("traffic-label sets fields where its condition holds", "[plugins][traffic-label]") {
  const char* conf =
      R"({"rules":[{"match":[["arg_foo","==","bar"]],"actions":[{"set_headers":{"X-Server-Id":100}}]}]})";
  CHECK(labelled(conf, "/echo") == "old|");
  CHECK(labelled(conf, "/echo?foo=bar") == "100|");
  CHECK(labelled(R"({"rules":[{"actions":[{"set_headers":{"X-Server-Id":"$arg_a"}}]}]})", "/echo?a=7") == "7|");
}

TEST_CASE("traffic-label takes the first rule that does something", "[plugins][traffic-label]") {
  const char* conf = R"({"rules":[{"actions":[{"weight":1}]},
      {"match":[["arg_foo","==","a"]],"actions":[{"set_headers":{"X-Server-Id":1}}]},
      {"match":[["arg_foo","~=","z"]],"actions":[{"set_headers":{"X-Server-Id":2}}]}]})";
  CHECK(labelled(conf, "/?foo=a") == "1|");
  CHECK(labelled(conf, "/?foo=b") == "2|");
  CHECK(labelled(conf, "/?foo=z") == "old|");
}

TEST_CASE("traffic-label keeps to the weights", "[plugins][traffic-label]") {
  auto plugin = test::configured<TrafficLabel>(
      R"({"rules":[{"actions":[{"set_headers":{"X-L":"a"},"weight":3},{"set_headers":{"X-L":"b"}},{"weight":2}]}]})");
  REQUIRE(plugin.has_value());
  std::map<std::string, int> seen;
  for (int i = 0; i < 60; ++i) {
    Kit kit;
    kit.access(*plugin);
    ++seen[kit.sent_up("X-L")];
  }
  CHECK(seen["a|"] == 30);
  CHECK(seen["b|"] == 10);
  CHECK(seen[""] == 20);
}
