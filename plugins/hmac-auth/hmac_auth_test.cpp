#include "plugins/hmac-auth/hmac_auth.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::hmac_auth::HmacAuth;
using sdk::Verdict;
using test::Kit;

namespace {

constexpr const char* kDate = "Tue, 19 Jan 2021 11:33:20 GMT";
constexpr std::int64_t kNow = 1611056000;
constexpr const char* kSha256 = "UFRCk/ErbLnyIGohm0d5IOhgr80yn2kzQXCK7dTbBc0=";

const test::FakeConsumers& consumers() {
  static const auto kAll = [] {
    auto conf = parse_json(R"({"key_id":"k1","secret_key":"s3cret"})");
    test::FakeConsumers all;
    all.add("jack", "hmac-auth", "k1", {}, *HmacAuth::compile_consumer(*conf));
    all.add("anon", "", "");
    return all;
  }();
  return kAll;
}

std::string who(Kit& kit, const char* conf = "{}", std::int64_t now = kNow) {
  auto plugin = test::configured<HmacAuth>(conf);
  if (!plugin) return plugin.error().reason;
  kit.ctx.consumers = &consumers();
  kit.ctx.wall = WallTime(std::chrono::seconds(now));
  const Verdict v = kit.rewrite(*plugin);
  if (v.kind == Verdict::Kind::proceed) return kit.ctx.consumer->name;
  return std::to_string(v.status) + " " + kit.sent_down("WWW-Authenticate") + " " + kit.reply();
}

std::string asked(const std::string& authorization, const char* conf = "{}", std::int64_t now = kNow) {
  Kit kit("/a?b=1");
  kit.header("Authorization", authorization).header("Date", kDate);
  return who(kit, conf, now);
}

std::string signature(const char* algorithm, const char* value, const char* headers = "@request-target date") {
  return "Signature keyId=\"k1\",algorithm=\"" + std::string(algorithm) + "\",headers=\"" + headers +
         "\",signature=\"" + value + "\"";
}

const std::string kRefused = "401 hmac realm=\"hmac\"| {\"message\":\"client request can't be validated\"}\n";

}  // namespace

TEST_CASE("hmac-auth accepts every algorithm", "[plugins][hmac-auth]") {
  CHECK(asked(signature("hmac-sha1", "NOtBuNRmXvnTgXleG33IpbtXdJM=")) == "jack");
  CHECK(asked(signature("hmac-sha256", kSha256)) == "jack");
  CHECK(asked(signature("hmac-sha512",
                        "c334AYASnWW5aVXlirpWxuEr1EhSH7j5GtZvKAoxndZaiykA5tDFhn+tO3qJTyYZ/gwb7pWW4QZ4XqrC4TIupQ==")) ==
        "jack");
}

TEST_CASE("hmac-auth refuses", "[plugins][hmac-auth]") {
  Kit none;
  CHECK(who(none) ==
        "401 hmac realm=\"hmac\"| {\"message\":\"client request can't be validated: missing Authorization header\"}\n");
  CHECK(
      asked("Basic x") ==
      "401 hmac realm=\"hmac\"| {\"message\":\"client request can't be validated: Authorization header does not start "
      "with 'Signature'\"}\n");
  CHECK(asked("Signature") == kRefused);
  CHECK(asked("Signature keyId=\"k1\",algorithm=") == kRefused);
  CHECK(asked(signature("hmac-sha256", "bad")) == kRefused);
  CHECK(asked(signature("hmac-md5", kSha256)) == kRefused);
  CHECK(asked(signature("hmac-sha256", kSha256), R"({"allowed_algorithms":["hmac-sha1"]})") == kRefused);
  CHECK(asked(signature("hmac-sha256", kSha256), R"({"signed_headers":["date","x-must"]})") == kRefused);
  CHECK(asked(signature("hmac-sha256", kSha256, "@request-target")) == kRefused);
  std::string many = "date";
  for (int i = 0; i < 200; ++i) many += " date";
  CHECK(asked(signature("hmac-sha256", kSha256, many.c_str())) == kRefused);
  CHECK(asked("Signature keyId=\"nobody\",algorithm=\"hmac-sha256\",headers=\"date\",signature=\"x\"") == kRefused);
}

TEST_CASE("hmac-auth bounds the clock's difference", "[plugins][hmac-auth]") {
  const std::string good = signature("hmac-sha256", kSha256);
  CHECK(asked(good, "{}", kNow + 300) == "jack");
  CHECK(asked(good, "{}", kNow + 301) == kRefused);
  CHECK(asked(good, "{}", kNow - 301) == kRefused);
  CHECK(asked(good, R"({"clock_skew":10})", kNow + 11) == kRefused);
  Kit undated("/a?b=1");
  undated.header("Authorization", good);
  CHECK(who(undated) == kRefused);
}

TEST_CASE("hmac-auth compares the body", "[plugins][hmac-auth]") {
  const char* conf = R"({"validate_request_body":true,"max_req_body_size":10})";
  const auto with = [&](std::string_view body, const char* digest) {
    Kit kit("/a?b=1");
    kit.header("Authorization", signature("hmac-sha256", kSha256)).header("Date", kDate);
    if (digest != nullptr) kit.header("Digest", digest);
    kit.ctx.request_body = body;
    return who(kit, conf);
  };
  CHECK(with(R"({"x":1})", "SHA-256=UEG/H3E98gR4Q1PoL2pKU1kxy2Tx9LSlrq/8tyCRiyI=") == "jack");
  CHECK(with(R"({"x":2})", "SHA-256=UEG/H3E98gR4Q1PoL2pKU1kxy2Tx9LSlrq/8tyCRiyI=") == kRefused);
  CHECK(with(R"({"x":1})", nullptr) == kRefused);
  CHECK(with("12345678901", "SHA-256=x") ==
        "413  {\"message\":\"request size 11 is greater than the maximum size 10 allowed\"}\n");
  auto plugin = test::configured<HmacAuth>(conf);
  REQUIRE(plugin.has_value());
  CHECK(plugin->needs.request_body);
}

TEST_CASE("hmac-auth hides credentials and falls back", "[plugins][hmac-auth]") {
  Kit kit("/a?b=1");
  kit.header("Authorization", signature("hmac-sha256", kSha256)).header("Date", kDate);
  CHECK(who(kit, R"({"hide_credentials":true})") == "jack");
  CHECK(kit.sent_up("Authorization").empty());
  CHECK(asked("Basic x", R"({"anonymous_consumer":"anon"})") == "anon");
}
