// JSON, regular expressions, address ranges, text helpers.
#include <catch2/catch.hpp>

#include <cmath>

#include "conf/base/cidr.hpp"
#include "conf/base/constant_time.hpp"
#include "conf/base/json.hpp"
#include "conf/base/pcre.hpp"
#include "conf/base/text.hpp"

using namespace sluice;

TEST_CASE("JSON parsing is strict and bounded", "[conf][json]") {
  CHECK(parse_json("{\"a\":1}").has_value());
  CHECK(parse_json("").has_error());
  CHECK(parse_json("{\"a\":1} x").has_error());
  CHECK(parse_json("{\"a\":}").error().message().find("line 1, column") != std::string::npos);
  CHECK(parse_json("\"\xff\xfe\"").has_error());
  CHECK(parse_json("1e999").has_error());
  CHECK(parse_json(std::string(200, '[')).error().message().find("nested deeper than 128") != std::string::npos);
  CHECK(parse_json(std::string(128, '[') + std::string(128, ']')).has_value());
  CHECK(parse_json("\"" + std::string(500, '[') + "\"").has_value());
  CHECK(parse_json("[1,2,3]", {.max_bytes = 3}).error().code == Errc::too_large);
}

TEST_CASE("the last of equal members wins", "[conf][json]") {
  CHECK(to_json(*parse_json(R"({"a":1,"b":2,"a":{"c":1,"c":3}})")) == R"({"a":{"c":3},"b":2})");
  std::string big = "{";
  for (int i = 0; i < 50; ++i) big += "\"k" + std::to_string(i % 20) + "\":" + std::to_string(i) + ",";
  big += "\"k0\":\"last\"}";
  auto doc = parse_json(big);
  CHECK(doc->MemberCount() == 20);
  CHECK(text_of(*find(*doc, "k0")) == "last");
  CHECK(find(*doc, "k15")->GetInt() == 35);
}

TEST_CASE("numbers print as Lua prints them", "[conf][json]") {
  CHECK(to_json(*parse_json("[1.0,0.1,1e20,-3,18446744073709551615]")) == "[1,0.1,1e+20,-3,18446744073709551615]");
  CHECK(number_text(1.5) == "1.5");
  CHECK(number_text(503) == "503");
}

TEST_CASE("numbers are read to the last bit, a zero with any exponent is zero", "[conf][json]") {
  for (const char* zero : {"0e40", "0e23", "-0E81", "0e300", "0E0097", "0.0e50", "0.000e-300", "0e-400", "-0.0", "0.0"}) {
    const auto read = parse_json(zero);
    REQUIRE(read.has_value());
    INFO(zero);
    CHECK(read->GetDouble() == 0.0);
    CHECK(std::signbit(read->GetDouble()) == (zero[0] == '-'));
  }
  const auto list = parse_json(R"({"0e1":[0e40,1.5e0,10e1,0.1,123456789012345678e-30,1e-5],"b":0e40})");
  REQUIRE(list.has_value());
  const double wanted[] = {0.0, 1.5, 100, 0.1, 123456789012345678e-30, 1e-5};
  for (rapidjson::SizeType i = 0; i < 6; ++i) CHECK((*list)["0e1"][i].GetDouble() == wanted[i]);
  CHECK((*list)["b"].GetDouble() == 0.0);
  CHECK((*parse_json("4.9e-324")).GetDouble() == 4.9e-324);
  CHECK((*parse_json("1.7976931348623157e308")).GetDouble() == 1.7976931348623157e308);
  CHECK((*parse_json("-1e-400")).GetDouble() == 0.0);
  for (const char* large : {"1.8e308", "-17976931348623159e292", "[1e999]"}) {
    const auto read = parse_json(large);
    REQUIRE(read.has_error());
    CHECK(read.error().message().find("Number too big to be stored in double at line 1") != std::string::npos);
  }
}

TEST_CASE("canonical form and equality ignore the order of members", "[conf][json]") {
  auto a = parse_json(R"({"b":[1,2.0],"a":{"y":null,"x":true}})");
  auto b = parse_json(R"({"a":{"x":true,"y":null},"b":[1.0,2]})");
  CHECK(canonical_json(*a) == R"({"a":{"x":true,"y":null},"b":[1,2]})");
  CHECK(equal_json(*a, *b));
  CHECK(!equal_json(*a, *parse_json("{}")));
}

TEST_CASE("regular expressions", "[conf][pcre]") {
  auto re = Regex::compile("^/(\\w+)/(x)?(\\d+)$");
  REQUIRE(re.has_value());
  Captures c;
  REQUIRE(re->match("/abc/42", c));
  CHECK(c.count == 4);
  CHECK(c[1] == "abc");
  CHECK(c[2].data() == nullptr);
  CHECK(c[3] == "42");
  CHECK(!re->search("/abc/"));
  CHECK(Regex::compile("(abc").error().message().find("missing closing parenthesis at offset 4") != std::string::npos);
  CHECK(Regex::compile("ABC", Regex::caseless)->search("xabcx"));
  // Exponential without limits.
  auto slow = Regex::compile("^(a+)+$");
  CHECK(!slow->search(std::string(5000, 'a') + "b"));
  CHECK(!Regex().search("x"));
}

TEST_CASE("addresses and ranges", "[conf][cidr]") {
  auto set = CidrSet::parse({"10.0.0.0/8", "10.1.0.0/16", "192.168.1.1", "2001:db8::/32", "::1"});
  REQUIRE(set.has_value());
  CHECK(set->size() == 4);
  CHECK(set->contains("10.200.3.4"));
  CHECK(set->contains("::ffff:10.0.0.1"));
  CHECK(!set->contains("11.0.0.0"));
  CHECK(set->contains("192.168.1.1"));
  CHECK(!set->contains("192.168.1.2"));
  CHECK(set->contains("2001:db8:ffff::1"));
  CHECK(!set->contains("2001:db9::1"));
  CHECK(set->contains("[::1]"));
  CHECK(!set->contains("example.com"));
  CHECK(CidrSet::parse({"::1/129"}).error().message() == "invalid ip address: ::1/129");
  for (const char* bad : {"", "10.0.0.1/33", "10.0.0", "10.0.0.1/", "10.0.0.1/x", "a/8", ":/8", "[10.0.0.1]"})
    CHECK(!Cidr::parse(bad));
  CHECK(CidrSet::parse({"0.0.0.0/0"})->contains("1.2.3.4"));
  CHECK(!CidrSet::parse({"0.0.0.0/0"})->contains("::1"));
  CHECK(parse_ip("::ffff:1.2.3.4")->text() == "1.2.3.4");
  CHECK(parse_ip("2001:DB8::1")->text() == "2001:db8::1");
  CHECK(!CidrSet().contains("1.2.3.4"));
}

TEST_CASE("text helpers", "[conf][text]") {
  CHECK(text::nearest("node_listn", std::vector<std::string>{"node_listen", "enable_admin"}) == "node_listen");
  CHECK(text::nearest("zzz", std::vector<std::string>{"node_listen"}).empty());
  CHECK(text::percent_decode("a%2Fb%zz%4") == "a/b%zz%4");
  CHECK(text::percent_decode("a+b", true) == "a b");
  CHECK(text::percent_encode("a/b c~") == "a%2Fb%20c~");
  CHECK(text::split("a,,b", ',').size() == 3);
  CHECK(text::to_int<int>("12") == 12);
  CHECK(!text::to_int<int>("12x"));
  CHECK(equal_constant_time("abc", "abc"));
  CHECK(!equal_constant_time("abc", "abd"));
  CHECK(!equal_constant_time("abc", ""));
  CHECK(!equal_constant_time("", "abc"));
}
