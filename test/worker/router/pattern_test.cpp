#include <catch2/catch.hpp>

#include "worker/router/pattern.hpp"

using namespace sluice::router;

namespace {
// Captures as "name=value,name=value", or "no".
std::string run(std::string_view text, std::string_view path, bool parameters = false) {
  const Pattern pattern(text, parameters);
  if (pattern.exact() ? path != text : !path.starts_with(pattern.literal())) return "no";
  Pattern::Values values;
  if (!pattern.match(path, values)) return "no";
  std::string out;
  for (std::size_t i = 0; i < pattern.captures(); ++i)
    out += (i ? "," : "") + std::string(pattern.name(i)) + "=" + std::string(values[i]);
  return out;
}
}  // namespace

TEST_CASE("kinds of patterns and their literal prefix", "[router][pattern]") {
  CHECK(Pattern("/blog/foo", false).exact());
  CHECK(Pattern("/blog/bar*", false).literal() == "/blog/bar");
  CHECK(Pattern("/blog/bar/*", false).literal() == "/blog/bar/");
  CHECK(Pattern("/a/*/b", false).literal() == "/a/");
  CHECK(Pattern("/name/:id", false).exact());
  CHECK(Pattern("/name/:id/x*", true).literal() == "/name/");
  CHECK_FALSE(Pattern("/blog/bar*", false).decides());
  CHECK_FALSE(Pattern("/blog/bar/*", false).decides());
  CHECK(Pattern("/a/*/b", false).decides());
}

TEST_CASE("wildcards capture", "[router][pattern]") {
  CHECK(run("/blog/*", "/blog/") == ":ext=");
  CHECK(run("/blog/*", "/blog/a/b") == ":ext=a/b");
  CHECK(run("/blog/*", "/blog") == "no");
  CHECK(run("/blog*", "/blogger") == "");
  CHECK(run("/*", "/x") == ":ext=x");
  CHECK(run("/a/*/b", "/a/x/b") == ":ext=x");
  CHECK(run("/a/*/b", "/a/x/y/b") == ":ext=x/y");
  CHECK(run("/a/*/b", "/a//b") == ":ext=");
  CHECK(run("/a/*/b", "/a/b") == "no");
  CHECK(run("/a/*/b", "/a/x/bc") == "no");
  CHECK(run("/a/*rest/b", "/a/b/b/b") == "rest=b/b");
  CHECK(run("/a/*/b/*tail", "/a/1/b/2/b/3") == ":ext=1/b/2,tail=3");
}

TEST_CASE("parameters", "[router][pattern]") {
  CHECK(run("/user/:id/x", "/user/7/x", true) == "id=7");
  CHECK(run("/user/:id/x", "/user//x", true) == "no");
  CHECK(run("/user/:id/x", "/user/7/8/x", true) == "no");
  CHECK(run("/user/:id", "/user/7", true) == "id=7");
  CHECK(run("/user/:id", "/user/7/", true) == "no");
  CHECK(run("/:a/:b/*", "/1/2/3/4", true) == "a=1,b=2,:ext=3/4");
  CHECK(run("/:a/*/:b", "/1/2/3/4", true) == "a=1,:ext=2/3,b=4");
  CHECK(run("/name/:id", "/name/:id", false) == "");
  CHECK(run("/name/:id", "/name/json", false) == "no");
  CHECK(run("/a:b/:c", "/a:b/1", true) == "c=1");
}

TEST_CASE("literal segments go into the expression as they are", "[router][pattern]") {
  CHECK(run("/a/*/b.c", "/a/1/bxc") == ":ext=1");
  CHECK(run("/a/*/b.c", "/a/1/b.c") == ":ext=1");
  CHECK(run("/a/*/b+", "/a/1/bbb") == ":ext=1");
  CHECK(run("/a/*/[0-9]", "/a/1/5") == ":ext=1");
  CHECK(run("/a/*/(", "/a/1/(") == "no");
}
