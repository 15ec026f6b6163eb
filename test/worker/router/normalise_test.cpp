#include <catch2/catch.hpp>

#include "worker/router/normalise.hpp"

using namespace sluice;
using namespace sluice::router;
using namespace std::string_view_literals;

namespace {
struct Run {
  explicit Run(std::string_view raw, NormaliseOptions options = {}) { ok = normalise_target(raw, options, arena, out); }
  sdk::Arena arena;
  NormalTarget out;
  bool ok;
};
std::string path_of(std::string_view raw, NormaliseOptions options = {}) {
  Run run(raw, options);
  return run.ok ? std::string(run.out.path) : "400";
}
}  // namespace

TEST_CASE("a plain target is a view into the raw text", "[router][normalise]") {
  const std::string_view raw = "/a/b.c?x=1&y=%20#f";
  Run run(raw);
  REQUIRE(run.ok);
  CHECK(run.out.path == "/a/b.c");
  CHECK(run.out.path.data() == raw.data());
  CHECK(run.out.query == "x=1&y=%20");
  CHECK(run.out.has_query);
  CHECK(run.out.upstream_uri.empty());
}

TEST_CASE("percent-decoding, dot segments and slashes", "[router][normalise]") {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"/", "/"},
      {"//", "/"},
      {"///a//b///", "/a/b/"},
      {"/a/./b", "/a/b"},
      {"/a/.", "/a/"},
      {"/a/..", "/"},
      {"/a/b/..", "/a/"},
      {"/a/b/../", "/a/"},
      {"/a/b/../c", "/a/c"},
      {"/a/.b/..c/...", "/a/.b/..c/..."},
      {"/%61%2Fb", "/a/b"},
      {"/a/%2e%2E/b", "/b"},
      {"/a%2f%2fb", "/a/b"},
      {"/a%20b", "/a b"},
      {"/a%25b", "/a%b"},
      {"/a%3Fb?c", "/a?b"},
      {"/a%23b#c", "/a#b"},
      {"/..", "400"},
      {"/a/../..", "400"},
      {"/%2e%2e/x", "400"},
      {"/a/../../b", "400"},
      {"/a%00b", "400"},
      {"/a%zz", "400"},
      {"/a%4", "400"},
      {"/a%", "400"},
      {"", "400"},
      {"*", "400"},
      {"a/b", "400"},
      {"http://h/a/../b", "/b"},
      {"http://h", "/"},
      {"http://h?x", "/"},
      {"http:///x", "400"},
      {"ftp://h/x", "400"},
  };
  for (const auto& [raw, want] : table) {
    INFO(raw);
    CHECK(path_of(raw) == want);
  }
}

TEST_CASE("absolute form gives its authority", "[router][normalise]") {
  Run run("HTTP://User@Host.test:81/p?q");
  REQUIRE(run.ok);
  CHECK(run.out.authority == "Host.test:81");
  CHECK(run.out.path == "/p");
  CHECK(run.out.query == "q");
}

TEST_CASE("delete_uri_tail_slash drops one slash", "[router][normalise]") {
  const NormaliseOptions options{.delete_uri_tail_slash = true};
  CHECK(path_of("/hello/", options) == "/hello");
  CHECK(path_of("/hello", options) == "/hello");
  CHECK(path_of("/", options).empty());
}

TEST_CASE("normalize_uri_like_servlet drops parameters of segments", "[router][normalise]") {
  const NormaliseOptions options{.normalize_uri_like_servlet = true};
  Run run("/a;x=1/b;y%20?q=1", options);
  REQUIRE(run.ok);
  CHECK(run.out.path == "/a/b");
  CHECK(run.out.match_path == "/a/b");
  CHECK(run.out.upstream_uri == "/a;x=1/b;y%20?q=1");
  CHECK(path_of("/a/b;", options) == "/a/b");
  CHECK(path_of("/a/;", options) == "/a/");
  for (const auto raw : {"/a/..;/b", "/a/.;/b", "/;/b", "/a/%252e;/b", "/a/%252E%252e;x/b"}) {
    INFO(raw);
    CHECK(path_of(raw, options) == "400");
  }
  CHECK(Run("/plain", options).out.upstream_uri.empty());
}

TEST_CASE("match_uri_encoded_slash keeps %2F for matching when decoding is all that happened", "[router][normalise]") {
  const NormaliseOptions options{.match_uri_encoded_slash = true};
  Run run("/a%2fb/c%20d", options);
  REQUIRE(run.ok);
  CHECK(run.out.path == "/a/b/c d");
  CHECK(run.out.match_path == "/a%2Fb/c d");
  CHECK(Run("/a%2F/b", options).out.match_path == "/a/b");
  CHECK(Run("/x/../a%2Fb", options).out.match_path == "/a/b");
}
