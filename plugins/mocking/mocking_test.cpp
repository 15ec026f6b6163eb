#include "plugins/mocking/mocking.hpp"

#include <catch2/catch.hpp>

#include "conf/base/pcre.hpp"
#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::mocking::Mocking;
using sdk::Verdict;
using test::Kit;

namespace {
struct Mocked {
  Verdict verdict;
  std::string body, type, by;
};
Mocked mocked(const char* conf, const char* target = "/m") {
  auto plugin = test::configured<Mocking>(conf);
  if (!plugin) return {{}, plugin.error().reason, {}, {}};
  Kit kit(target);
  const Verdict v = kit.access(*plugin);
  return {v, kit.reply(), std::string(kit.ctx.reply.content_type), kit.sent_down("x-mock-by")};
}
}  // namespace

TEST_CASE("mocking answers with the example", "[plugins][mocking]") {
  const Mocked m = mocked(R"({"response_example":"{\"a\":\"$arg_x\"}"})", "/m?x=1");
  CHECK(m.verdict.status == 200);
  CHECK(m.body == R"({"a":"1"})");
  CHECK(m.type == "application/json;charset=utf8");
  CHECK(m.by == "APISIX/3.18.0|");
  const Mocked other = mocked(
      R"({"response_example":"x","response_status":404,"content_type":"text/plain","with_mock_header":false,"response_schema":{}})");
  CHECK(other.verdict.status == 404);
  CHECK(other.body == "x");
  CHECK(other.type == "text/plain");
  CHECK(other.by.empty());
}

TEST_CASE("mocking holds the answer back", "[plugins][mocking]") {
  const Mocked m = mocked(R"({"response_example":"x","delay":2})");
  CHECK(m.verdict.kind == Verdict::Kind::pause);
  CHECK(m.verdict.delay == std::chrono::seconds(2));
  CHECK(m.verdict.ends_request());
}

TEST_CASE("mocking adds fields", "[plugins][mocking]") {
  auto plugin = test::configured<Mocking>(R"({"response_example":"x","response_headers":{"X-U":"$uri","X-N":2}})");
  REQUIRE(plugin.has_value());
  Kit kit("/m");
  kit.access(*plugin);
  CHECK(kit.sent_down("X-U") == "/m|");
  CHECK(kit.sent_down("X-N") == "2|");
}

TEST_CASE("mocking makes bodies from a schema", "[plugins][mocking]") {
  const char* fixed = R"({"content_type":"%s","response_schema":{"type":"object","properties":{
      "s":{"type":"string","example":"a\"<$arg_x"},"n":{"type":"number","example":1.5},
      "i":{"type":"integer","example":7.9},"b":{"type":"boolean","example":true},
      "o":{"type":"object","properties":{"k":{"type":"string","example":"v"}}}}}})";
  const auto with = [&](const char* type) {
    std::string conf(fixed);
    return conf.replace(conf.find("%s"), 2, type);
  };
  CHECK(mocked(with("application/json").c_str(), "/m?x=1").body ==
        R"({"s":"a\"<1","n":1.5,"i":7,"b":true,"o":{"k":"v"}})");
  CHECK(mocked(with("text/plain").c_str(), "/m?x=1").body == R"({"s":"a\"<1","n":1.5,"i":7,"b":true,"o":{"k":"v"}})");
  CHECK(mocked(with("text/xml").c_str(), "/m?x=1").body ==
        "<data><s>a&quot;&lt;1</s><n>1.5</n><i>7</i><b>true</b><o><k>v</k></o></data>");
  CHECK(mocked(with("text/html").c_str()).body.empty());
}

TEST_CASE("mocking draws what the schema leaves open", "[plugins][mocking]") {
  const char* conf = R"({"response_schema":{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"number"},
      "i":{"type":"integer"},"b":{"type":"boolean"},"a":{"type":"array","items":{"type":"string"}},"z":{}}}})";
  for (int round = 0; round < 100; ++round) {
    auto body = parse_json(mocked(conf).body);
    REQUIRE(body.has_value());
    const std::string_view s = text_of((*body)["s"]);
    CHECK((s.size() >= 1 && s.size() <= 10));
    CHECK(Regex::compile("^[a-z]+$")->search(s));
    CHECK(((*body)["n"].GetDouble() >= 0 && (*body)["n"].GetDouble() <= 10000));
    CHECK(((*body)["i"].GetInt() >= 1 && (*body)["i"].GetInt() <= 10000));
    CHECK((*body)["b"].IsBool());
    CHECK(((*body)["a"].Size() >= 1 && (*body)["a"].Size() <= 3));
    CHECK((*body)["z"].IsNull());
  }
}

TEST_CASE("mocking bounds what a schema can blow up to", "[plugins][mocking]") {
  std::string schema = R"({"type":"string","example":"0123456789"})";
  for (int i = 0; i < 30; ++i) schema = R"({"type":"array","items":)" + schema + "}";
  auto plugin = test::configured<Mocking>(R"({"response_schema":)" + schema + "}");
  REQUIRE(plugin.has_value());
  Kit kit;
  kit.access(*plugin);
  CHECK(kit.ctx.reply.body.size() < 2u << 20);
  CHECK(parse_json(kit.ctx.reply.body).has_value());
}
