#include <catch2/catch.hpp>

#include <cstdlib>

#include "test/worker/live/support.hpp"

using namespace sluice;
using namespace sluice::live;
using namespace sluice::live::test;

namespace {
std::string who(const Bench& b, std::string_view key) {
  const sdk::Identity* identity = b.tables.consumers().find("key-auth", key);
  return identity ? identity->consumer->name + "/" + identity->credential_id : "nobody";
}
std::string plugins_of(const Bench& b, std::string_view name) {
  std::string all;
  if (const auto consumer = b.tables.consumers().by_name(name))
    for (const auto& p : consumer->plugins) all += std::string(p->type->traits.name) + "@" + p->resource_key + " ";
  return all;
}
}  // namespace

TEST_CASE("consumers are found by their keys", "[live][consumer]") {
  Bench b;
  b.put(Kind::consumer, "jack", R"({"username":"jack","labels":{"custom_id":"77"},"plugins":{"key-auth":{"key":"k1"},"echo":{"body":"x"}}})");
  CHECK(who(b, "k1") == "jack/");
  CHECK(b.tables.consumers().by_name("jack")->custom_id == "77");
  CHECK(plugins_of(b, "jack") == "echo@/apisix/consumers/jack ");
  b.put(Kind::consumer, "jack", R"({"username":"jack","plugins":{"key-auth":{"key":"k2"}}})");
  CHECK(who(b, "k1") == "nobody");
  CHECK(who(b, "k2") == "jack/");
  CHECK(b.tables.consumers().find("basic-auth", "k2") == nullptr);
  b.remove(Kind::consumer, "jack");
  CHECK(who(b, "k2") == "nobody");
  CHECK_FALSE(b.tables.consumers().by_name("jack"));
}

TEST_CASE("credentials belong to their consumer, in any order", "[live][consumer]") {
  Bench b;
  b.put(Kind::credential, "jack/credentials/c1", R"({"plugins":{"key-auth":{"key":"c-key"}}})");
  CHECK(who(b, "c-key") == "nobody");
  b.put(Kind::consumer, "jack", R"({"username":"jack"})");
  CHECK(who(b, "c-key") == "jack/c1");
  b.put(Kind::consumer, "jack", R"({"username":"jack","desc":"new"})");
  CHECK(who(b, "c-key") == "jack/c1");
  b.put(Kind::credential, "jack/credentials/c1", R"({"plugins":{"key-auth":{"key":"c-key2"}}})");
  CHECK(who(b, "c-key") == "nobody");
  CHECK(who(b, "c-key2") == "jack/c1");
  b.remove(Kind::consumer, "jack");
  CHECK(who(b, "c-key2") == "nobody");
  b.put(Kind::consumer, "jack", R"({"username":"jack"})");
  CHECK(who(b, "c-key2") == "jack/c1");
  b.remove(Kind::credential, "jack/credentials/c1");
  CHECK(who(b, "c-key2") == "nobody");
  CHECK(b.tables.consumers().by_name("jack"));
}

TEST_CASE("consumer over group; a group that is missing is told", "[live][consumer]") {
  Bench b;
  b.put(Kind::consumer, "jack", R"({"username":"jack","group_id":"g","plugins":{"key-auth":{"key":"k"},"echo":{"body":"c"}}})");
  CHECK(b.tables.consumers().by_name("jack")->group_missing);
  b.put(Kind::consumer_group, "g", R"({"plugins":{"echo":{"body":"g"},"request-id":{}}})");
  CHECK_FALSE(b.tables.consumers().by_name("jack")->group_missing);
  CHECK(plugins_of(b, "jack") == "request-id@/apisix/consumer_groups/g echo@/apisix/consumers/jack ");
  CHECK(who(b, "k") == "jack/");
  b.put(Kind::consumer_group, "g", R"({"plugins":{}})");
  CHECK(plugins_of(b, "jack") == "echo@/apisix/consumers/jack ");
  b.remove(Kind::consumer_group, "g");
  CHECK(b.tables.consumers().by_name("jack")->group_missing);
}

TEST_CASE("a key that two consumers claim stays with the first", "[live][consumer]") {
  Bench b;
  b.put(Kind::consumer, "a", R"({"username":"a","plugins":{"key-auth":{"key":"same"}}})");
  CHECK(b.put(Kind::consumer, "b", R"({"username":"b","plugins":{"key-auth":{"key":"same"}}})") != "");
  CHECK(who(b, "same") == "a/");
  b.remove(Kind::consumer, "a");
  CHECK(who(b, "same") == "b/");
}

TEST_CASE("keys may come from the environment; what does not resolve leaves the consumer out", "[live][consumer]") {
  ::setenv("SLUICE_TEST_KEY", "from-env", 1);
  ::setenv("SLUICE_TEST_JSON", R"({"k":"member"})", 1);
  Bench b;
  b.put(Kind::consumer, "a", R"({"username":"a","plugins":{"key-auth":{"key":"$env://SLUICE_TEST_KEY"}}})");
  b.put(Kind::consumer, "b", R"({"username":"b","plugins":{"key-auth":{"key":"$ENV://SLUICE_TEST_JSON/k"}}})");
  b.put(Kind::consumer, "c", R"({"username":"c","plugins":{"key-auth":{"key":"$env://SLUICE_TEST_NOT_SET"}}})");
  b.put(Kind::consumer, "d", R"({"username":"d","plugins":{"key-auth":{"key":"$secret://vault/1/a/b"}}})");
  CHECK(who(b, "from-env") == "a/");
  CHECK(who(b, "member") == "b/");
  CHECK(who(b, "$env://SLUICE_TEST_NOT_SET") == "nobody");
  CHECK(who(b, "$secret://vault/1/a/b") == "nobody");
}
