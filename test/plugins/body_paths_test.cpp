// Values out of request bodies: multipart forms with either line end, and JSONPaths that are none.
#include <catch2/catch.hpp>

#include "plugins/sdk/expression.hpp"
#include "test/support/plugin_kit.hpp"

using namespace sluice;

namespace {

std::string compile_message(const char* rule) {
  const auto compiled = sdk::Expression::compile(*parse_json(rule));
  return compiled ? "" : compiled.error().reason;
}

bool multipart_has(const std::string& body, const std::string& name, const std::string& value) {
  test::Kit kit("/", "POST");
  kit.header("Content-Type", "multipart/form-data; boundary=edge");
  kit.ctx.request_body = body;
  auto rule = sdk::Expression::compile(*parse_json("[[\"post_arg." + name + "\",\"==\",\"" + value + "\"]]"));
  REQUIRE(rule.has_value());
  return rule->evaluate(kit.ctx) == sdk::Expression::Outcome::yes;
}

}  // namespace

TEST_CASE("parts of a multipart body, lines ending in CRLF or LF", "[sdk][body]") {
  const std::string lf =
      "--edge\nContent-Disposition: form-data; name=\"a\"\n\none\n--edge\nContent-Disposition: form-data; "
      "name=b\n\n--edge--";
  std::string crlf;
  for (char c : lf) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  for (const std::string& body : {lf, crlf}) {
    CHECK(multipart_has(body, "a", "one"));
    CHECK(multipart_has(body, "b", ""));
    CHECK_FALSE(multipart_has(body, "c", "one"));
  }
  CHECK_FALSE(multipart_has("--edge", "a", "one"));
  CHECK_FALSE(multipart_has("--edge\nContent-Disposition: form-data; name=a", "a", ""));
}

TEST_CASE("a JSONPath that is none is refused when it is compiled", "[sdk][expression]") {
  CHECK(compile_message(R"([["post_arg.messages[.content[*].type","has","x"]])") ==
        "invalid expression \"$.essages[.content[*].type\" near \"[.content[*].type\"");
  CHECK(compile_message(R"([["post_arg.a[0","==","x"]])") == "invalid expression \"$.[0\" near \"[0\"");
  for (const char* good : {R"([["post_arg.a[*].b[0]","==","x"]])", R"([["post_arg.a['b.c']","==","x"]])",
                           R"([["post_arg.a[1:2,-1]","==","x"]])", R"([["post_arg.a[?(@.b>1)]","==","x"]])"})
    CHECK(compile_message(good).empty());
}
