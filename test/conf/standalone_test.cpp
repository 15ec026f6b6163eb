// The standalone document.
#include "conf/standalone.hpp"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::conf;

namespace {

const Environment kEnv = [](std::string_view name) -> std::optional<std::string> {
  if (name == "P") return "1980";
  return std::nullopt;
};

Result<StandaloneDocument> yaml(std::string_view text) { return parse_standalone(text, "apisix.yaml", kEnv, {}); }

}  // namespace

TEST_CASE("the end flag decides whether a YAML file is taken", "[conf][standalone]") {
  CHECK(yaml("routes: []\n").error().message() == "missing valid end flag in file apisix.yaml");
  CHECK(yaml("routes: []\n#END\n").has_value());
  CHECK(yaml("routes: []\n#END  \n\n").has_value());
  CHECK(yaml("routes: []\n#END\nxx").has_error());
  CHECK(yaml("#END").has_value());
  CHECK(yaml("routes: [\n#END").error().message().find("failed to parse the content of file apisix.yaml: line") == 0);
  CHECK(yaml("- a\n#END").has_error());
}

TEST_CASE("items, ids and duplicates", "[conf][standalone]") {
  auto doc = yaml(R"(
routes:
  - id: 1
    uri: /a
  - uri: /b
  - just text
  - id: 1
    uri: /c
    modifiedIndex: 7
consumers:
  - username: jack
  - id: jack/credentials/a
    plugins: {key-auth: {key: x}}
plugin_metadata:
  - id: http-logger
    log_format: {}
global_rules:
  - plugins: {}
plugins:
  - name: limit-req
  - name: mqtt-proxy
    stream: true
services:
upstreams_conf_version: 3
routs: []
#END)");
  REQUIRE(doc.has_value());
  REQUIRE(doc->items.size() == 5);
  CHECK(doc->items[0].id == "arr_2");
  CHECK(doc->items[1].id == "1");
  CHECK(text_of(*find(doc->items[1].value.get(), "uri")) == "/c");
  CHECK(find(doc->items[1].value.get(), "modifiedIndex") == nullptr);
  CHECK(doc->items[1].modified == 7);
  CHECK(doc->items[2].kind == Kind::consumer);
  CHECK(doc->items[2].id == "jack");
  CHECK(doc->items[3].kind == Kind::credential);
  CHECK(doc->items[4].id == "http-logger");
  CHECK(doc->errors.size() == 3);  // the text, the duplicate, the rule without id
  CHECK(doc->has_plugins);
  CHECK(doc->plugins.at(1).second);
  CHECK(doc->unknown_sections == std::vector<std::string>{"routs"});
}

TEST_CASE("variables: in the text for YAML, in the values for JSON", "[conf][standalone]") {
  auto doc = yaml("upstreams:\n- id: ${{P}}\n  name: \"${{ P }}\"\n  desc: ${{Q:=x}}\n#END");
  REQUIRE(doc.has_value());
  CHECK(to_json(doc->items.at(0).value.get()) == R"({"id":1980,"name":"1980","desc":"x"})");
  CHECK(yaml("a: ${{NOPE}}\n#END").error().message() ==
        "apisix.yaml: failed to handle configuration: can't find environment variable NOPE");
  StandaloneOptions json;
  json.format = StandaloneFormat::json;
  auto j = parse_standalone(R"({"upstreams":[{"id":"${{P}}","x":"a${{P}}"}]})", "apisix.json", kEnv, json);
  CHECK(to_json(j->items.at(0).value.get()) == R"({"id":1980,"x":"a1980"})");
  CHECK(parse_standalone("{", "apisix.json", kEnv, json).has_error());
}

TEST_CASE("hostile documents end in an error", "[conf][standalone]") {
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c <= 'k'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) bomb += std::string(i == 0 ? "*" : ",*") + static_cast<char>(c - 1);
    bomb += "]\n";
  }
  CHECK(yaml(bomb + "#END").error().message().find("more than") != std::string::npos);
  CHECK(yaml("routes: &a [*a]\n#END").error().message().find("nested deeper") != std::string::npos);
  CHECK(yaml("a: " + std::string(3000, '[') + "\n#END").has_error());
  CHECK(yaml("a: \xff\n#END").has_error());
  CHECK(yaml("a: {<<: {b: 1}}\n#END").error().message().find("merge keys") != std::string::npos);
  CHECK(yaml("? [a]\n: b\n#END").has_error());
  CHECK(yaml("a: 99999999999999999999999999\nb: 1e999\n#END").has_value());
}
