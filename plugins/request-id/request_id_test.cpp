#include "plugins/request-id/request_id.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "conf/base/pcre.hpp"
#include "plugins/request-id/identifiers.hpp"
#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::request_id::RequestId;
using test::Kit;

TEST_CASE("request-id makes identifiers of every form", "[plugins][request-id]") {
  const auto made = [](const char* conf) {
    auto plugin = test::configured<RequestId>(conf);
    REQUIRE(plugin.has_value());
    Kit kit;
    kit.ctx.wall = WallTime(std::chrono::seconds(1'700'000'000));
    kit.rewrite(*plugin);
    kit.header_filter(*plugin);
    const std::string id(kit.ctx.apisix_request_id);
    CHECK(kit.sent_up("x-request-id") == id + "|");
    CHECK(kit.sent_down("X-Request-Id") == id + "|");
    CHECK(sdk::Variable::compile("apisix_request_id").get(kit.ctx).text == id);
    return id;
  };
  const auto matches = [](const std::string& id, const char* pattern) { return Regex::compile(pattern)->search(id); };
  CHECK(matches(made("{}"), "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"));
  CHECK(matches(made(R"({"algorithm":"uuidv7"})"), "^018bcfe5-6800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"));
  CHECK(matches(made(R"({"algorithm":"nanoid"})"), "^[-_0-9a-zA-Z]{21}$"));
  CHECK(matches(made(R"({"algorithm":"range_id"})"), "^[0-9a-zA-Z]{16}$"));
  CHECK(matches(made(R"({"algorithm":"range_id","range_id":{"length":40,"char_set":"abcdef"}})"), "^[a-f]{40}$"));
  const std::string ksuid = made(R"({"algorithm":"ksuid"})");
  CHECK(matches(ksuid, "^[0-9a-zA-Z]{27}$"));
  // The leading digits are the time: later ids sort later.
  Kit later;
  later.ctx.wall = WallTime(std::chrono::seconds(1'800'000'000));
  CHECK(ksuid < std::string(plugins::request_id::make_ksuid(later.ctx)));
}

TEST_CASE("request-id's identifiers differ", "[plugins][request-id]") {
  auto plugin = test::configured<RequestId>("{}");
  REQUIRE(plugin.has_value());
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    Kit kit;
    kit.rewrite(*plugin);
    seen.insert(std::string(kit.ctx.apisix_request_id));
  }
  CHECK(seen.size() == 1000);
}

TEST_CASE("request-id keeps what is there", "[plugins][request-id]") {
  auto plugin = test::configured<RequestId>("{}");
  REQUIRE(plugin.has_value());
  Kit kit;
  kit.header("X-Request-Id", "abc");
  kit.rewrite(*plugin);
  CHECK(kit.sent_up("X-Request-Id") == "abc|");
  kit.header_filter(*plugin);
  CHECK(kit.sent_down("X-Request-Id") == "abc|");

  Kit answered;
  answered.header("X-Request-Id", "").answer_header("X-Request-Id", "u1");
  answered.rewrite(*plugin);
  CHECK(answered.sent_up("X-Request-Id").size() == 37);
  answered.header_filter(*plugin);
  CHECK(answered.sent_down("X-Request-Id") == "u1|");
}

TEST_CASE("request-id under another name, hidden from the client", "[plugins][request-id]") {
  auto plugin = test::configured<RequestId>(R"({"header_name":"Trace","include_in_response":false})");
  REQUIRE(plugin.has_value());
  Kit kit;
  kit.rewrite(*plugin);
  kit.header_filter(*plugin);
  CHECK(kit.sent_up("trace").size() == 37);
  CHECK(kit.sent_down("trace").empty());
}
