#include "plugins/real-ip/real_ip.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::real_ip::RealIp;
using test::Kit;

namespace {
// "address port" as seen afterwards; the request comes from 10.0.0.9:1000.
std::string seen(const char* conf, std::vector<std::pair<const char*, const char*>> headers,
                 const char* target = "/hello") {
  auto plugin = test::configured<RealIp>(conf);
  if (!plugin) return plugin.error().reason;
  Kit kit(target);
  kit.from("10.0.0.9");
  kit.ctx.client_port = 1000;
  for (const auto& [name, value] : headers) kit.header(name, value);
  CHECK(kit.rewrite(*plugin).kind == sdk::Verdict::Kind::proceed);
  CHECK(kit.ctx.client_address == parse_ip(kit.ctx.client_text));
  CHECK(kit.ctx.peer_text == "10.0.0.9");
  return std::string(kit.ctx.client_text) + " " + std::to_string(kit.ctx.client_port);
}
}  // namespace

TEST_CASE("real-ip takes addresses in every form", "[plugins][real-ip]") {
  const char* conf = R"({"source":"http_xff"})";
  CHECK(seen(conf, {{"XFF", "1.1.1.1"}}) == "1.1.1.1 1000");
  CHECK(seen(conf, {{"XFF", "1.1.1.1:80"}}) == "1.1.1.1 80");
  CHECK(seen(conf, {{"XFF", "::2"}}) == "::2 1000");
  CHECK(seen(conf, {{"XFF", "[::2]"}}) == "::2 1000");
  CHECK(seen(conf, {{"XFF", "[::2]:80"}}) == "::2 80");
  CHECK(seen(R"({"source":"arg_realip"})", {}, "/?realip=2.2.2.2:1289") == "2.2.2.2 1289");
}

TEST_CASE("real-ip leaves the address alone when the source is no use", "[plugins][real-ip]") {
  const char* conf = R"({"source":"http_xff"})";
  for (const char* bad :
       {"1.1.1.1.1", "1.1.1.1:65536", "1.1.1.1:0", "1.1.1.1:", "[::2", "[::2]x", "[::2]:", "name", ""}) {
    CAPTURE(bad);
    const std::string kept = seen(conf, {{"XFF", bad}});
    CHECK((kept == "10.0.0.9 1000" || (std::string(bad) == "1.1.1.1:" && kept == "1.1.1.1 1000")));
  }
  CHECK(seen(conf, {}) == "10.0.0.9 1000");
}

TEST_CASE("real-ip reads the chain of X-Forwarded-For", "[plugins][real-ip]") {
  const char* plain = R"({"source":"http_x_forwarded_for"})";
  CHECK(seen(plain, {{"X-Forwarded-For", "::1, ::2"}}) == "::2 1000");
  CHECK(seen(plain, {{"X-Forwarded-For", "::1"}, {"X-Forwarded-For", "::2"}}) == "::2 1000");
  const std::vector<std::pair<const char*, const char*>> chain = {{"X-Forwarded-For", "1.1.1.1, 10.0.0.2, 10.0.0.3"}};
  CHECK(seen(R"({"source":"http_x_forwarded_for","trusted_addresses":["10.0.0.0/8"]})", chain) == "10.0.0.3 1000");
  CHECK(seen(R"({"source":"http_x_forwarded_for","trusted_addresses":["10.0.0.0/8"],"recursive":true})", chain) ==
        "1.1.1.1 1000");
  CHECK(seen(R"({"source":"http_x_forwarded_for","trusted_addresses":["0.0.0.0/0"],"recursive":true})", chain) ==
        "1.1.1.1 1000");
}

TEST_CASE("real-ip believes only who is trusted", "[plugins][real-ip]") {
  CHECK(seen(R"({"source":"http_xff","trusted_addresses":["192.128.0.0/16"]})", {{"XFF", "1.1.1.1"}}) ==
        "10.0.0.9 1000");
  CHECK(seen(R"({"source":"http_xff","trusted_addresses":["192.128.0.0/16","10.0.0.0/24"]})", {{"XFF", "1.1.1.1"}}) ==
        "1.1.1.1 1000");
}
