#include "plugins/key-auth/key_auth.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::key_auth::KeyAuth;
using sdk::Verdict;
using test::Kit;

namespace {

const test::FakeConsumers& consumers() {
  static const auto kAll = [] {
    test::FakeConsumers all;
    all.add("jack", "key-auth", "k1");
    all.add("rose", "key-auth", "k2", "cred-1");
    all.add("anon", "", "");
    return all;
  }();
  return kAll;
}

// "jack/", "rose/cred-1", or "401 <body>".
std::string who(const char* conf, Kit& kit) {
  auto plugin = test::configured<KeyAuth>(conf);
  if (!plugin) return plugin.error().reason;
  kit.ctx.consumers = &consumers();
  const Verdict v = kit.rewrite(*plugin);
  if (v.kind != Verdict::Kind::proceed) {
    const auto challenge = kit.ctx.response_headers.get("WWW-Authenticate");
    return std::to_string(v.status) + " " + std::string(challenge.value_or("-")) + " " + kit.reply();
  }
  return kit.ctx.consumer->name + "/" + std::string(kit.ctx.credential_id);
}

}  // namespace

TEST_CASE("key-auth finds the key in header or query", "[plugins][key-auth]") {
  Kit header;
  header.header("apikey", "k1");
  CHECK(who("{}", header) == "jack/");
  CHECK(header.sent_up("apikey") == "k1|");
  Kit query("/hello?apikey=k%32");
  CHECK(who("{}", query) == "rose/cred-1");
  Kit renamed("/hello?auth=k1");
  CHECK(who(R"({"query":"auth","header":"X-Key"})", renamed) == "jack/");
}

TEST_CASE("key-auth refuses", "[plugins][key-auth]") {
  Kit none;
  CHECK(who("{}", none) == "401 apikey realm=\"key\" {\"message\":\"Missing API key in request\"}\n");
  Kit unknown;
  unknown.header("apikey", "bad");
  CHECK(who(R"({"realm":"my realm"})", unknown) ==
        "401 apikey realm=\"my realm\" {\"message\":\"Invalid API key in request\"}\n");
  Kit header_first("/hello?apikey=k1");
  header_first.header("apikey", "bad");
  CHECK(who("{}", header_first) == "401 apikey realm=\"key\" {\"message\":\"Invalid API key in request\"}\n");
  Kit empty;
  empty.header("apikey", "");
  CHECK(who("{}", empty) == "401 apikey realm=\"key\" {\"message\":\"Invalid API key in request\"}\n");
}

TEST_CASE("key-auth hides credentials", "[plugins][key-auth]") {
  const char* conf = R"({"hide_credentials":true,"anonymous_consumer":"anon"})";
  Kit header("/hello?apikey=zzz");
  header.header("apikey", "k1");
  CHECK(who(conf, header) == "jack/");
  CHECK(header.sent_up("apikey").empty());
  CHECK(header.ctx.query == "apikey=zzz");  // it did not come from there

  Kit query("/a%20b?x=1&apikey=k1&y=%202&apikey=k9");
  CHECK(who(conf, query) == "jack/");
  CHECK(query.ctx.query == "x=1&y=%202");
  CHECK(query.ctx.upstream_uri == "/a%20b?x=1&y=%202");

  Kit only("/a?apikey=k1");
  CHECK(who(conf, only) == "jack/");
  CHECK(only.ctx.upstream_uri == "/a");
  CHECK(only.ctx.query.empty());
}

TEST_CASE("key-auth falls back to the anonymous consumer", "[plugins][key-auth]") {
  Kit none("/hello?apikey=bad&x=1");
  CHECK(who(R"({"anonymous_consumer":"anon","hide_credentials":true})", none) == "anon/");
  CHECK(none.ctx.query == "x=1");
  CHECK(none.sent_down("WWW-Authenticate").empty());
  Kit missing;
  CHECK(who(R"({"anonymous_consumer":"nobody"})", missing) ==
        "401 apikey realm=\"key\" {\"message\":\"Invalid user authorization\"}\n");
}

TEST_CASE("key-auth's consumer side", "[plugins][key-auth]") {
  CHECK(KeyAuth::consumer_key_field() == "key");
  CHECK(schema::encrypted_paths(KeyAuth::consumer_schema()) == std::vector<std::string>{"key"});
  JsonDoc empty(rapidjson::kObjectType);
  CHECK(schema::validate(KeyAuth::consumer_schema(), empty, empty.GetAllocator()) == "property \"key\" is required");
}
