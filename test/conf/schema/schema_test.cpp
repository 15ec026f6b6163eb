// Messages, order and defaults of the validator; reading into structs; publication.
#include "conf/schema/schema.hpp"

#include <catch2/catch.hpp>

#include "conf/schema/table.hpp"

using namespace sluice;
namespace s = sluice::schema;

namespace {

std::string check(const s::Node& node, std::string_view text) {
  auto doc = parse_json(text);
  REQUIRE(doc.has_value());
  return s::validate(node, *doc, doc->GetAllocator());
}

std::string filled(const s::Node& node, std::string_view text) {
  auto doc = parse_json(text);
  REQUIRE(doc.has_value());
  CHECK(s::validate(node, *doc, doc->GetAllocator()) == "");
  return canonical_json(*doc);
}

}  // namespace

TEST_CASE("each broken rule has its text", "[conf][schema]") {
  CHECK(check(s::string(), "1") == "wrong type: expected string, got number");
  CHECK(check(s::string(), "[1]") == "wrong type: expected string, got table");
  CHECK(check(s::object(), "[1]") == "wrong type: expected object, got table");
  CHECK(check(s::integer(), "1.5") == "wrong type: expected integer, got number");
  CHECK(check(s::integer(), "1.0") == "");
  CHECK(check(s::number(), "true") == "wrong type: expected number, got boolean");
  CHECK(check(s::boolean(), "null") == "wrong type: expected boolean, got null");
  CHECK(check(s::string().min_length(1), "\"\"") == "string too short, expected at least 1, got 0");
  CHECK(check(s::string().max_length(2), "\"世界\"") == "");
  CHECK(check(s::string().max_length(2), "\"abc\"") == "string too long, expected at most 2, got 3");
  CHECK(check(s::string().pattern("^\\S+$"), "\"a b\"") == "failed to match pattern \"^\\\\S+$\" with \"a b\"");
  CHECK(check(s::number().at_least(1), "0") == "expected 0 to be at least 1");
  CHECK(check(s::number().at_most(1), "1.5") == "expected 1.5 to be at most 1");
  CHECK(check(s::number().greater_than(0), "0") == "expected 0 to be greater than 0");
  CHECK(check(s::array(s::integer()).min_items(1), "[]") == "expect array to have at least 1 items");
  CHECK(check(s::array(s::integer()).max_items(1), "[1,2]") == "expect array to have at most 1 items");
  CHECK(check(s::array().unique(), "[1,\"1\",1.0]") == "expected unique items but items 1 and 3 are equal");
  CHECK(check(s::array().unique(), R"([{"a":1,"b":2},3,{"b":2,"a":1}])") ==
        "expected unique items but items 1 and 3 are equal");
  CHECK(check(s::array(s::integer()), "[1,\"x\"]") ==
        "failed to validate item 2: wrong type: expected integer, got string");
  CHECK(check(s::string().one_of_values({"a", "b"}), "\"c\"") == "matches none of the enum values");
  CHECK(check(s::integer().enum_json("[1,0]"), "2") == "matches none of the enum values");
  CHECK(check(s::object().min_properties(1), "{}") == "expect object to have at least 1 properties");
  CHECK(check(s::object().max_properties(1), R"({"a":1,"b":1})") == "expect object to have at most 1 properties");
  CHECK(check(s::object().closed(), R"({"a":1})") == "additional properties forbidden, found a");
  CHECK(check(s::object().require({"a"}), "{}") == "property \"a\" is required");
  CHECK(check(s::object().depends("a", {"b"}), R"({"a":1})") == "property \"b\" is required when \"a\" is set");
  CHECK(check(s::map(s::string()), R"({"k":1})") ==
        "failed to validate additional property k: wrong type: expected string, got number");
  CHECK(check(s::object().pattern_property(".*", s::string()), R"({"您好":{}})") ==
        "failed to validate 您好 (matching \".*\"): wrong type: expected string, got table");
}

TEST_CASE("combinations", "[conf][schema]") {
  const auto id = s::any_of({s::string().min_length(1), s::integer().at_least(1)});
  CHECK(check(id, "0") == "object matches none of the required");
  CHECK(check(id, "\"a\"") == "");
  CHECK(check(s::object().require_any({{"active"}, {"active", "passive"}}), "{}") ==
        "object matches none of the required: [\"active\"] or [\"active\",\"passive\"]");
  const auto one = s::one_of({s::Node().require({"uri"}), s::Node().require({"uris"})});
  CHECK(check(one, "{}") == "value should match only one schema, but matches none");
  CHECK(check(one, R"({"uri":1,"uris":1})") == "value should match only one schema, but matches both schemas 1 and 2");
  CHECK(check(s::all_of({one}), "{}") == "allOf 1 failed: value should match only one schema, but matches none");
  CHECK(check(s::negate(s::Node().require({"a"})), R"({"a":1})") == "value wasn't supposed to match schema");
  const auto conditional = s::object()
                               .property("policy", s::string().default_value("local"))
                               .with_if(s::Node().property("policy", s::string().one_of_values({"redis"})),
                                        s::Node().require({"host"}), s::Node().property("host", s::integer()));
  CHECK(check(conditional, R"({"policy":"redis"})") == "then clause did not match");
  CHECK(check(conditional, R"({"host":"x"})") == "else clause did not match");
  CHECK(check(conditional, "{}") == "");
}

TEST_CASE("nesting and order of checks", "[conf][schema]") {
  const auto node = s::object()
                        .property("a", s::object().property("b", s::integer().at_least(1), s::required))
                        .property("c", s::string(), s::required);
  CHECK(check(node, R"({"a":{"b":0}})") ==
        "property \"a\" validation failed: property \"b\" validation failed: expected 0 to be at least 1");
  CHECK(check(node, R"({"a":{}})") == "property \"a\" validation failed: property \"b\" is required");
  CHECK(check(node, R"({"a":{"b":1}})") == "property \"c\" is required");
}

TEST_CASE("secret references pass string checks only", "[conf][schema]") {
  const auto node = s::string().min_length(100).pattern("^x$");
  CHECK(check(node, "\"$secret://vault/1/a/b\"") == "");
  CHECK(check(node, "\"$ENV://NAME\"") == "");
  CHECK(check(s::integer(), "\"$env://NAME\"") != "");
}

TEST_CASE("defaults", "[conf][schema]") {
  const auto node = s::object()
                        .property("n", s::integer().default_value(5))
                        .property("flag", s::boolean().default_value(false))
                        .property("inner", s::object().property("x", s::string().default_value("y")).default_json("{}"))
                        .property("other", s::object().property("x", s::integer().default_value(1)));
  CHECK(filled(node, "{}") == R"({"flag":false,"inner":{"x":"y"},"n":5})");
  CHECK(filled(node, R"({"other":[],"n":6})") == R"({"flag":false,"inner":{"x":"y"},"n":6,"other":{"x":1}})");
  auto doc = parse_json("{}");
  CHECK(s::validate(node, *doc, doc->GetAllocator(), false) == "");
  CHECK(to_json(*doc) == "{}");
}

namespace {

enum class Mode { fast, slow };
bool read_value(const Json& v, Mode& out) {
  if (text_of(v) == "fast") return out = Mode::fast, true;
  if (text_of(v) == "slow") return out = Mode::slow, true;
  return false;
}

struct Rule {
  std::int64_t count = 0;
};
struct Config {
  double rate = 0;
  std::optional<int> burst;
  std::vector<std::string> hosts;
  std::vector<std::pair<std::string, std::int64_t>> ordered;
  std::map<std::string, std::string> labels;
  std::variant<std::int64_t, std::string> count;
  Mode mode = Mode::fast;
  std::vector<Rule> rules;
  std::optional<Rule> rule;
  s::JsonCopy raw;
};

const s::Table<Config>& config_table() {
  static const auto kRule = s::table<Rule>().field("count", &Rule::count, s::integer().greater_than(0), s::required);
  static const auto kTable =
      s::table<Config>()
          .field("rate", &Config::rate, s::number().greater_than(0), s::required)
          .field("burst", &Config::burst, s::integer())
          .field("hosts", &Config::hosts, s::array(s::string()))
          .field("ordered", &Config::ordered, s::map(s::integer()))
          .field("labels", &Config::labels, s::map(s::string()))
          .field("count", &Config::count, s::one_of({s::integer(), s::string()}))
          .field("mode", &Config::mode, s::string().default_value("slow"))
          .field("rules", &Config::rules, kRule, s::optional, [](s::Node n) { return n.min_items(1); })
          .field("rule", &Config::rule, kRule)
          .field("raw", &Config::raw, s::any())
          .refine([](s::Node n) { return n.closed(); });
  return kTable;
}

}  // namespace

TEST_CASE("a table reads what it describes", "[conf][schema]") {
  auto c = config_table().parse(
      R"({"rate":1,"burst":2.0,"hosts":["a"],"ordered":{"z":1,"a":2},"labels":{"k":"v"},"count":"$x","rules":[{"count":3}],"raw":[1,{}]})");
  REQUIRE(c.has_value());
  CHECK(c->rate == 1);
  CHECK(c->burst == 2);
  CHECK(c->hosts == std::vector<std::string>{"a"});
  CHECK(c->ordered[0].first == "z");
  CHECK(c->labels.at("k") == "v");
  CHECK(std::get<std::string>(c->count) == "$x");
  CHECK(c->mode == Mode::slow);
  CHECK(c->rules.at(0).count == 3);
  CHECK(!c->rule);
  CHECK(to_json(c->raw.get()) == "[1,{}]");
  CHECK(config_table().parse(R"({"rate":1,"rules":[]})").error().message() ==
        "property \"rules\" validation failed: expect array to have at least 1 items");
  CHECK(config_table().parse(R"({"rate":1,"rules":[{}]})").error().message() ==
        "property \"rules\" validation failed: failed to validate item 1: property \"count\" is required");
  CHECK(config_table().parse(R"({"rate":1,"burst":1e30})").has_error());
  CHECK(config_table().parse(R"({"rate":1,"mode":"odd"})").has_error());
  CHECK(config_table().parse(R"({"rate":1,"oops":1})").error().message() ==
        "additional properties forbidden, found oops");
}

TEST_CASE("JSON Schema in and out", "[conf][schema]") {
  const char* text =
      R"({"type":"object","properties":{"a":{"type":"string","minLength":1,"description":"d","title":"t"},"b":{"type":["integer","string"],"default":1}},"required":["a"],"additionalProperties":false,"$comment":"c","encrypt_fields":["a"],"dependencies":{"a":["b"]},"patternProperties":{"^x":{"type":"null"}},"if":{"required":["b"]},"then":{"minProperties":1},"else":{"not":{"required":["z"]}}})";
  const auto node = s::from_json_schema(text);
  CHECK(canonical_json(s::to_json_schema(node)) == canonical_json(*parse_json(text)));
  CHECK(s::encrypted_paths(node) == std::vector<std::string>{"a"});
  const auto secret = s::object()
                          .property("auth", s::object().property("token", s::string().encrypted()))
                          .property("list", s::array(s::object().property("key", s::string().encrypted())));
  CHECK(s::encrypted_paths(secret) == std::vector<std::string>{"auth.token", "list.key"});
}
