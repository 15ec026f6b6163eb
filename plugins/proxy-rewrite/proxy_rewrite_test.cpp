#include "plugins/proxy-rewrite/proxy_rewrite.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::proxy_rewrite::ProxyRewrite;
using test::Kit;

namespace {

std::string upstream(const char* conf, const char* target) {
  auto plugin = test::configured<ProxyRewrite>(conf);
  if (!plugin) return plugin.error().reason;
  Kit kit(target);
  if (kit.rewrite(*plugin).kind != sdk::Verdict::Kind::proceed) return "ended: " + kit.reply();
  return std::string(kit.ctx.upstream_uri);
}

}  // namespace

TEST_CASE("proxy-rewrite computes the upstream target", "[plugins][proxy-rewrite]") {
  struct Row {
    const char* conf;
    const char* target;
    const char* expected;
  };
  const Row rows[] = {
      {R"J({"uri":"/new"})J", "/old?a=1", "/new?a=1"},
      {R"J({"uri":"/new"})J", "/old", "/new"},
      {R"J({"uri":"/new?x=1"})J", "/old?a=1", "/new?x=1&a=1"},
      {R"J({"uri":"/u/$arg_id"})J", "/old?id=7", "/u/7?id=7"},
      {R"J({"uri":"/$arg_nope"})J", "/old", "/"},
      {R"J({"uri":"/$uri/r"})J", "/h%3Fq", "//h%253Fq/r"},
      {R"J({"regex_uri":["^/t/(.*)/(.*)","/$1_$2?a=c"]})J", "/t/p/q", "/p_q?a=c"},
      {R"J({"regex_uri":["^/t/(.*)/(.*)","/$1_$2?a=c"]})J", "/t/p/q?z=1", "/p_q?a=c&z=1"},
      {R"J({"regex_uri":["^/t/(.*)/(.*)","/$1_$2?a=c"]})J", "/other", "/other"},
      {R"J({"regex_uri":["^/x/(.*)","/1/$1","^/t/(.*)","/2/${1}0"]})J", "/t/p", "/2/p0"},
      {R"J({"uri":"/hello","regex_uri":["^/t/(.*)","/$1"]})J", "/t/p", "/hello"},
      {R"J({"host":"x.com"})J", "/print%5Furi", "/print_uri"},
      {R"J({"headers":{"X-A":"1"}})J", "/a%2fb//c%0d%0a?q=%41", ""},   // as received
      {R"J({"method":"PUT"})J", "/a%2fb", ""},
      {R"J({"host":"x.com"})J", "/hello%3f0z=7%26a%0D%0AHost:g", "/hello%3F0z=7&a%0D%0AHost:g"},
      {R"J({"regex_uri":["/hello/(.+)","/hello?v=$1"],"use_real_request_uri_unsafe":true})J", "/hello/%ED%85",
       "/hello?v=%ED%85"},
      {R"J({"uri":"/p","use_real_request_uri_unsafe":true})J", "/h?a=1?b=2", "/p?a=1?b=2"},
      {R"J({"uri":"/p?x=1","use_real_request_uri_unsafe":true})J", "/h?q=2", "/p?x=1&q=2"},
      {R"J({"use_real_request_uri_unsafe":true})J", "/a%2Fb?q=1", "/a%2Fb?q=1"},
      {R"J({"regex_uri":["^(/r.*)","/p?o=$1"]})J", "/r%0d%0aX:1", "/p?o=/r%0D%0AX:1"},
      {R"J({"regex_uri":["^/s/(.*)","/p?o=$1"]})J", "/s/a%20b", "/p?o=a%20b"},
      {R"J({"regex_uri":["^/s/(.*)","$1"]})J", "/s/up", "/up"},
      {R"J({"regex_uri":["^/(a)?b","/x$1y"]})J", "/b", "/xy"},
      {R"J({"regex_uri":["^/a","/$$1"]})J", "/a", "/$1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.conf, row.target);
    CHECK(upstream(row.conf, row.target) == row.expected);
  }
}

TEST_CASE("proxy-rewrite never lets a variable break the request line", "[plugins][proxy-rewrite]") {
  CHECK(upstream(R"J({"uri":"/x$arg_v","use_real_request_uri_unsafe":true})J", "/h?v=%0d%0aX:%201") ==
        "/x%0D%0AX:%201?v=%0d%0aX:%201");
  auto plugin = test::configured<ProxyRewrite>(R"J({"headers":{"X-A":"$arg_v"}})J");
  REQUIRE(plugin.has_value());
  Kit kit("/h?v=a%0d%0aX:1");
  kit.rewrite(*plugin);
  CHECK(kit.sent_up("X-A") == "a%0D%0AX:1|");
}

TEST_CASE("proxy-rewrite takes the origin form of an absolute target", "[plugins][proxy-rewrite]") {
  CHECK(upstream(R"J({"use_real_request_uri_unsafe":true})J", "http://a.com:81/x?y=1") == "/x?y=1");
}

TEST_CASE("proxy-rewrite edits header fields in order add, set, remove", "[plugins][proxy-rewrite]") {
  const auto run = [](const char* conf, const char* name, std::vector<std::pair<const char*, const char*>> sent,
                      const char* target = "/h") {
    auto plugin = test::configured<ProxyRewrite>(conf);
    if (!plugin) return plugin.error().reason;
    Kit kit(target);
    kit.from("10.0.0.1").host("a.com");
    for (const auto& [n, v] : sent) kit.header(n, v);
    kit.rewrite(*plugin);
    return kit.sent_up(name);
  };
  CHECK(run(R"J({"headers":{"X-A":"1","X-B":""}})J", "X-B", {{"X-B", "old"}}).empty());
  CHECK(run(R"J({"headers":{"X-A":1.5}})J", "X-A", {{"x-a", "old"}, {"x-a", "older"}}) == "1.5|");
  CHECK(run(R"J({"headers":{"set":{"X-A":["v1","v2"]}}})J", "X-A", {{"X-A", "old"}}) == "v1|v2|");
  CHECK(run(R"J({"headers":{"add":{"X-A":["v1","$arg_q"]}}})J", "X-A", {{"X-A", "old"}}, "/h?q=z") == "old|v1|z|");
  CHECK(run(R"J({"headers":{"add":{"t":"123"}}})J", "t", {{"t", "sssss"}, {"t", "bbb"}}) == "sssss|bbb|123|");
  CHECK(run(R"J({"headers":{"add":{"t":"a"},"set":{"t":"b"}}})J", "t", {}) == "b|");
  CHECK(run(R"J({"headers":{"remove":["Cookie"]}})J", "cookie", {{"Cookie", "a=1"}}).empty());
  CHECK(run(R"J({"headers":{"set":{"X-A":"${http_x_nope ?? none}"}}})J", "X-A", {}) == "none|");
  CHECK(run(R"J({"headers":{"set":{"X-A":"\\$host"}}})J", "X-A", {}) == "\\$host|");
  CHECK(run(R"J({"headers":{"add":{"X":"1"},"set":{"X":"2"},"remove":["X"]}})J", "X", {}).empty());
  CHECK(run(R"J({"headers":{"add":"plain"}})J", "add", {}) == "plain|");
  CHECK(run(R"J({"headers":{"Content-Length":"5"}})J", "Content-Length", {{"Content-Length", "9"}}) == "9|");
  CHECK(run(R"J({"regex_uri":["^/t/(.*)","/$1"],"headers":{"set":{"X-Id":"$1/$2/$remote_addr"}}})J", "X-Id", {},
            "/t/k") == "k//10.0.0.1|");
  CHECK(run(R"J({"regex_uri":["^/t/(.*)","/$1"],"headers":{"set":{"X-Id":"a${1}b$1"}}})J", "X-Id", {}, "/t/k") ==
        "akbk|");
  CHECK(run(R"J({"headers":{"set":{"X-Id":"n$1m"}}})J", "X-Id", {}) == "nm|");
  // What a client puts into the path is no template.
  CHECK(run(R"J({"regex_uri":["^/t/(.*)","/x"],"headers":{"set":{"X-Id":"$1"}}})J", "X-Id", {}, "/t/$host") ==
        "$host|");
}

TEST_CASE("proxy-rewrite sets host and method", "[plugins][proxy-rewrite]") {
  auto plugin = test::configured<ProxyRewrite>(R"J({"host":"test.com:6443","method":"PUT"})J");
  REQUIRE(plugin.has_value());
  Kit kit("/hello");
  kit.rewrite(*plugin);
  CHECK(kit.ctx.upstream_host == "test.com:6443");
  CHECK(kit.ctx.upstream_method == "PUT");
  CHECK(kit.ctx.method == "GET");
  CHECK(sdk::Variable::compile("request_method").get(kit.ctx).text == "PUT");
}

TEST_CASE("proxy-rewrite gives the captures to later plugins", "[plugins][proxy-rewrite]") {
  auto plugin = test::configured<ProxyRewrite>(R"J({"regex_uri":["^/(\\w+)/(\\w+)$","/x"]})J");
  REQUIRE(plugin.has_value());
  Kit kit("/a/b");
  kit.rewrite(*plugin);
  REQUIRE(kit.ctx.regex_captures.size() == 3);
  CHECK(kit.ctx.regex_captures[2] == "b");
}

TEST_CASE("proxy-rewrite answers 500 when the regex engine gives up", "[plugins][proxy-rewrite]") {
  const std::string target = "/" + std::string(4000, 'a') + "!";
  const std::string result = upstream(R"J({"regex_uri":["^/(a+)+$","/x"]})J", target.c_str());
  CHECK(result.starts_with("ended: {\"error_msg\":\"failed to match the uri /aaa"));
  CHECK(result.ends_with("}\n"));
}
