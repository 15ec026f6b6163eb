#include "plugins/basic-auth/basic_auth.hpp"

#include <catch2/catch.hpp>

#include "plugins/sdk/base64.hpp"
#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::basic_auth::BasicAuth;
using sdk::Verdict;
using test::Kit;

namespace {

const test::FakeConsumers& consumers() {
  static const auto kAll = [] {
    const auto secret = [](const char* json) {
      auto conf = parse_json(json);
      return *BasicAuth::compile_consumer(*conf);
    };
    test::FakeConsumers all;
    all.add("jack", "basic-auth", "foo", {}, secret(R"({"username":"foo","password":"bar"})"));
    all.add("lost", "basic-auth", "lost");  // its password could not be resolved
    all.add("anon", "", "");
    return all;
  }();
  return kAll;
}

std::string who(const char* conf, Kit& kit) {
  auto plugin = test::configured<BasicAuth>(conf);
  if (!plugin) return plugin.error().reason;
  kit.ctx.consumers = &consumers();
  const Verdict v = kit.rewrite(*plugin);
  if (v.kind == Verdict::Kind::proceed) return kit.ctx.consumer->name;
  return std::to_string(v.status) + " " + kit.sent_down("WWW-Authenticate") + " " + kit.reply();
}
std::string with(const char* authorization, const char* conf = "{}") {
  Kit kit;
  kit.header("Authorization", authorization);
  return who(conf, kit);
}
std::string refusal(const char* text) {
  return "401 Basic realm=\"basic\"| {\"message\":\"" + std::string(text) + "\"}\n";
}

}  // namespace

TEST_CASE("basic-auth accepts name and password", "[plugins][basic-auth]") {
  CHECK(with("Basic Zm9vOmJhcg==") == "jack");
  CHECK(with("basic Zm9vOmJhcg==") == "jack");
  CHECK(with("BASIC  Zm9vOmJhcg") == "jack");
  CHECK(with("Basic Zm8gbzogYmFyOmlnbm9yZWQ=") == "jack");  // "fo o: bar:ignored"
}

TEST_CASE("basic-auth refuses", "[plugins][basic-auth]") {
  Kit none;
  CHECK(who("{}", none) == refusal("Missing authorization in request"));
  for (const char* bad :
       {"Bad_header YmFyOmJhcgo=", "Basic aca_a", "Basic YmFy", "Basic", "Basic ", "BasicZm9vOmJhcg=="})
    CHECK(with(bad) == refusal("Invalid authorization in request"));
  CHECK(with("Basic YmFyOmJhcgo=") == refusal("Invalid user authorization"));
  CHECK(with("Basic Zm9vOmZvbwo=") == refusal("Invalid user authorization"));
  CHECK(with("Basic bG9zdDo=") == refusal("Invalid user authorization"));
  CHECK(with("Basic YmFy", R"({"realm":"x"})").starts_with("401 Basic realm=\"x\"|"));
}

TEST_CASE("basic-auth hides credentials and falls back", "[plugins][basic-auth]") {
  Kit hidden;
  hidden.header("Authorization", "Basic Zm9vOmJhcg==");
  CHECK(who(R"({"hide_credentials":true})", hidden) == "jack");
  CHECK(hidden.sent_up("Authorization").empty());
  CHECK(with("Basic YmFy", R"({"anonymous_consumer":"anon"})") == "anon");
  CHECK(with("Basic YmFy", R"({"anonymous_consumer":"nobody"})") == refusal("Invalid user authorization"));
}

TEST_CASE("basic-auth's consumer side", "[plugins][basic-auth]") {
  const auto message = [](const char* json) {
    auto conf = parse_json(json);
    return schema::validate(BasicAuth::consumer_schema(), *conf, conf->GetAllocator());
  };
  CHECK(message(R"({"username":"foo","password":"bar"})").empty());
  CHECK(message(R"({"username":"foo"})") == "property \"password\" is required");
  CHECK(message(R"({"username":123,"password":"bar"})") ==
        "property \"username\" validation failed: wrong type: expected string, got number");
  CHECK(schema::encrypted_paths(BasicAuth::consumer_schema()) == std::vector<std::string>{"password"});
}
