#include "plugins/cors/cors.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::cors::Cors;
using test::Kit;

namespace {

// The answer's headers as "origin;methods;headers;expose;age;credentials;vary;timing".
std::string answered(const char* conf, const char* origin, const sdk::PluginHost& host = {},
                     const char* asked = nullptr) {
  auto plugin = test::configured<Cors>(conf, host);
  if (!plugin) return plugin.error().reason;
  Kit kit;
  if (origin != nullptr) kit.header("Origin", origin);
  if (asked != nullptr) kit.header("Access-Control-Request-Headers", asked);
  CHECK(kit.rewrite(*plugin).kind == sdk::Verdict::Kind::proceed);
  kit.ctx.request_headers.set("Origin", "http://rewritten");
  kit.answer_header("Access-Control-Allow-Methods", "upstream's");
  kit.header_filter(*plugin);
  std::string all;
  for (const char* name : {"Access-Control-Allow-Origin", "Access-Control-Allow-Methods",
                           "Access-Control-Allow-Headers", "Access-Control-Expose-Headers", "Access-Control-Max-Age",
                           "Access-Control-Allow-Credentials", "Vary", "Timing-Allow-Origin"}) {
    std::string value = kit.sent_down(name);
    if (!value.empty()) value.pop_back();
    all += value + ";";
  }
  return all;
}

constexpr const char* kAll = "GET,POST,PUT,DELETE,PATCH,HEAD,OPTIONS,CONNECT,TRACE";

}  // namespace

TEST_CASE("cors by default", "[plugins][cors]") {
  CHECK(answered("{}", nullptr) == "*;*;*;;5;;;;");
  CHECK(answered("{}", "http://x") == "*;*;*;;5;;;;");
}

TEST_CASE("cors with a list of origins", "[plugins][cors]") {
  const char* conf = R"({"allow_origins":"http://a.com,http://b.com","allow_methods":"GET","allow_headers":"h1",
      "expose_headers":"e1","max_age":50,"allow_credential":true})";
  CHECK(answered(conf, "http://b.com") == "http://b.com;GET;h1;e1;50;true;Origin;;");
  CHECK(answered(conf, "http://c.com") == ";upstream's;;;;;Origin;;");
  CHECK(answered(conf, nullptr) == ";upstream's;;;;;Origin;;");
}

TEST_CASE("cors by name", "[plugins][cors]") {
  const char* conf = R"({"allow_origins":"**","allow_methods":"**","allow_headers":"**","expose_headers":"*"})";
  CHECK(answered(conf, "https://s", {}, "h1,h2") == "https://s;" + std::string(kAll) + ";h1,h2;*;5;;Origin;;");
  CHECK(answered(conf, nullptr) == "*;" + std::string(kAll) + ";;*;5;;Origin;;");
}

TEST_CASE("cors by pattern", "[plugins][cors]") {
  const char* conf = R"J({"allow_origins":"http://a.com","allow_origins_by_regex":[".*\\.test.com$","x\\.org"]})J";
  CHECK(answered(conf, "http://a.test.com") == "http://a.test.com;*;*;;5;;Origin;;");
  CHECK(answered(conf, "http://x.org:80") == "http://x.org:80;*;*;;5;;Origin;;");
  CHECK(answered(conf, "http://a.com") == ";upstream's;;;;;Origin;;");
  CHECK(answered(R"J({"allow_origins_by_regex":["nope"]})J", "http://a.com") == ";upstream's;;;;;;;");
}

TEST_CASE("cors by metadata", "[plugins][cors]") {
  auto metadata =
      parse_json(R"({"allow_origins":{"k1":"https://d.com","k2":"https://s.com,https://s2.com","k3":"*"}})");
  sdk::PluginHost host;
  host.metadata = [&](std::string_view plugin) {
    return plugin == "cors" ? &static_cast<const Json&>(*metadata) : nullptr;
  };
  const char* two = R"({"allow_origins":"https://t.com","allow_origins_by_metadata":["k1","k2","unknown"]})";
  CHECK(answered(two, "https://s2.com", host) == "https://s2.com;*;*;;5;;Origin;;");
  CHECK(answered(two, "https://t.com", host) == "https://t.com;*;*;;5;;Origin;;");
  CHECK(answered(two, "https://x.com", host) == ";upstream's;;;;;Origin;;");
  CHECK(answered(R"({"allow_origins":"https://t.com","allow_origins_by_metadata":["k3"]})", "http://f", host) ==
        "http://f;*;*;;5;;Origin;;");
  CHECK(answered(R"({"allow_origins_by_metadata":["k1"]})", "http://f", host) == ";upstream's;;;;;;;");
}

TEST_CASE("cors timing", "[plugins][cors]") {
  CHECK(answered(R"({"timing_allow_origins":"http://a.com"})", "http://a.com") == "*;*;*;;5;;;http://a.com;");
  CHECK(answered(R"({"timing_allow_origins":"http://a.com"})", "http://b.com") == "*;*;*;;5;;;;");
  CHECK(answered(R"({"timing_allow_origins":"*"})", "http://b.com") == "*;*;*;;5;;;*;");
  CHECK(answered(R"({"timing_allow_origins_by_regex":["^http://b"]})", "http://b.com") == "*;*;*;;5;;;http://b.com;");
}

TEST_CASE("cors answers every OPTIONS request", "[plugins][cors]") {
  auto plugin = test::configured<Cors>("{}");
  REQUIRE(plugin.has_value());
  Kit kit("/hello", "OPTIONS");
  CHECK(kit.rewrite(*plugin).status == 200);
  CHECK(kit.reply() == "(none)");
}
