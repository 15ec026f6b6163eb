#include "plugins/csrf/csrf.hpp"

#include <catch2/catch.hpp>

#include "plugins/sdk/base64.hpp"
#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::csrf::Csrf;
using test::Kit;

namespace {

constexpr auto kNow = WallTime(std::chrono::seconds(1'700'000'000));

std::string asked(const char* conf, std::string_view field, std::string_view cookie, const char* method = "POST",
                  WallTime now = kNow) {
  auto plugin = test::configured<Csrf>(conf);
  if (!plugin) return plugin.error().reason;
  Kit kit("/hello", method);
  kit.ctx.wall = now;
  if (!field.empty()) kit.header("apisix-csrf-token", field);
  if (!cookie.empty()) kit.ctx.request_headers.add("Cookie", kit.ctx.arena.concat({"a=b; apisix-csrf-token=", cookie}));
  const sdk::Verdict v = kit.access(*plugin);
  return v.kind == sdk::Verdict::Kind::proceed ? "pass" : std::to_string(v.status) + " " + kit.reply();
}
std::string refusal(const char* text) { return "401 {\"error_msg\":\"" + std::string(text) + "\"}\n"; }

std::string issued(const char* conf) {
  auto plugin = test::configured<Csrf>(conf);
  REQUIRE(plugin.has_value());
  Kit kit;
  kit.ctx.wall = kNow;
  kit.header_filter(*plugin);
  return kit.sent_down("Set-Cookie");
}

}  // namespace

TEST_CASE("csrf lets safe methods pass", "[plugins][csrf]") {
  for (const char* method : {"GET", "HEAD", "OPTIONS"}) CHECK(asked(R"({"key":"k"})", "", "", method) == "pass");
}

TEST_CASE("csrf accepts its own tokens while they are fresh", "[plugins][csrf]") {
  const char* conf = R"({"key":"edd1c9","expires":100})";
  const std::string cookie = issued(conf);
  REQUIRE(cookie.starts_with("apisix-csrf-token="));
  CHECK(cookie.ends_with(";path=/;SameSite=Lax;Expires=Tue, 14-Nov-23 22:15:00 GMT|"));
  const std::string token = cookie.substr(18, cookie.find(';') - 18);
  CHECK(asked(conf, token, token) == "pass");
  CHECK(asked(conf, token, token, "POST", kNow + std::chrono::seconds(100)) == "pass");
  CHECK(asked(conf, token, token, "POST", kNow + std::chrono::seconds(101)) ==
        refusal("Failed to verify the csrf token signature"));
  CHECK(asked(R"({"key":"edd1c9","expires":0})", token, token, "POST", kNow + std::chrono::hours(9999)) == "pass");
  CHECK(asked(R"({"key":"other"})", token, token) == refusal("Failed to verify the csrf token signature"));
}

TEST_CASE("csrf signs as the specification says", "[plugins][csrf]") {
  sdk::Arena arena;
  const auto token = sdk::base64_encode(
      arena,
      R"({"random":0.5,"expires":1700000000,"sign":"01770eae3d084905d7e5ae1c7b8a65eab0e69897b88e50a798ec0f34a7e097c8"})");
  CHECK(asked(R"({"key":"edd1c9"})", token, token) == "pass");
}

TEST_CASE("csrf names what is wrong", "[plugins][csrf]") {
  const char* conf = R"({"key":"k"})";
  CHECK(asked(conf, "", "") == refusal("no csrf token in headers"));
  CHECK(asked(conf, "", "t") == refusal("no csrf token in headers"));
  CHECK(asked(conf, "t", "") == refusal("no csrf cookie"));
  CHECK(asked(conf, "t", "u") == refusal("csrf token mismatch"));
  for (const char* bad : {"t", "e30=", "bm90IGpzb24=", "eyJyYW5kb20iOiJ4IiwiZXhwaXJlcyI6MSwic2lnbiI6IiJ9"})
    CHECK(asked(conf, bad, bad) == refusal("Failed to verify the csrf token signature"));
}
