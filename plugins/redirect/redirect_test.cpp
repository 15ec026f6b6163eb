#include "plugins/redirect/redirect.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::redirect::Redirect;
using test::Kit;

namespace {

// "301 /there", or "-" when the request goes on.
std::string redirected(const char* conf, Kit& kit, const sdk::PluginHost& host = {}) {
  auto plugin = test::configured<Redirect>(conf, host);
  if (!plugin) return plugin.error().reason;
  const sdk::Verdict verdict = kit.rewrite(*plugin);
  if (verdict.kind != sdk::Verdict::Kind::reply) return "-";
  CHECK_FALSE(kit.ctx.reply.has_body);
  const auto location = kit.ctx.response_headers.get("Location");
  return std::to_string(verdict.status) + " " + std::string(location.value_or("?"));
}
std::string redirected(const char* conf, const char* target, const char* method = "GET") {
  Kit kit(target, method);
  return redirected(conf, kit);
}

}  // namespace

TEST_CASE("redirect expands its own templates", "[plugins][redirect]") {
  CHECK(redirected(R"J({"uri":"/test/add","ret_code":301})J", "/hello") == "301 /test/add");
  CHECK(redirected(R"J({"uri":"$uri/test/a${arg_name}c"})J", "/hello?name=json") == "302 /hello/test/ajsonc");
  CHECK(redirected(R"J({"uri":"/foo$$uri"})J", "/hello") == "302 /foo$/hello");
  CHECK(redirected(R"J({"uri":"\\$uri/foo$uri\\$uri/bar"})J", "/hello") == "302 \\$uri/foo/hello\\$uri/bar");
  CHECK(redirected(R"J({"uri":"$uri/$bad_var/bar"})J", "/hello") == "302 /hello//bar");
  CHECK(redirected(R"J({"uri":"$uri.html"})J", "/hello") == "302 /hello.html");
  CHECK(redirected(R"J({"uri":"/a${uri"})J", "/hello") == "302 /a${uri");
  Kit kit("/hello?x=1");
  kit.host("foo.com:9080");
  CHECK(redirected(R"J({"uri":"https://$host$request_uri"})J", kit) == "302 https://foo.com/hello?x=1");
}

TEST_CASE("redirect appends the query and encodes", "[plugins][redirect]") {
  CHECK(redirected(R"J({"uri":"/new/$arg_id?x=1","append_query_string":true})J", "/o?id=3") == "302 /new/3?x=1&id=3");
  CHECK(redirected(R"J({"uri":"$uri","append_query_string":true})J", "/o?id=3") == "302 /o?id=3");
  CHECK(redirected(R"J({"uri":"$uri","append_query_string":true})J", "/o") == "302 /o");
  CHECK(redirected(R"J({"uri":"$uri","encode_uri":true})J", "/hello/with%20space") == "302 /hello/with%20space");
  CHECK(redirected(R"J({"uri":"$uri?a= b","encode_uri":true})J", "/x%20y") == "302 /x%20y?a= b");
  CHECK(redirected(R"J({"uri":"$uri"})J", "/x%0d%0aSet-Cookie:a") == "302 /x%0D%0ASet-Cookie:a");
}

TEST_CASE("redirect substitutes in the client's path", "[plugins][redirect]") {
  const char* conf = R"J({"regex_uri":["^/t/(.*)$","http://e/$1"],"ret_code":301})J";
  CHECK(redirected(conf, "/t/x") == "301 http://e/x");
  CHECK(redirected(conf, "/other") == "-");
  CHECK(redirected(R"J({"regex_uri":["^/test/(.*)","http://test.com/${1}"],"encode_uri":true})J",
                   "/test/with%20space") == "302 http://test.com/with%20space");
}

TEST_CASE("redirect to https", "[plugins][redirect]") {
  const char* conf = R"J({"http_to_https":true,"ret_code":302})J";
  CHECK(redirected(conf, "/b?c=d", "GET") == "301 https://localhost/b?c=d");
  CHECK(redirected(conf, "/b", "HEAD") == "301 https://localhost/b");
  sdk::PluginHost host;
  host.tls_ports = {9443};
  Kit post("/b?c=d", "POST");
  post.host("a.com:80");
  CHECK(redirected(conf, post, host) == "308 https://a.com:9443/b?c=d");
  host.tls_ports = {443};
  Kit standard("/b");
  CHECK(redirected(conf, standard, host) == "301 https://localhost/b");

  auto attributes = parse_json(R"J({"redirect":{"https_port":8443}})J");
  host.plugin_attr = &*attributes;
  Kit fixed("/b");
  CHECK(redirected(conf, fixed, host) == "301 https://localhost:8443/b");

  Kit already("/b");
  already.header("X-Forwarded-Proto", "https, http");
  CHECK(redirected(conf, already) == "-");
  Kit other("/b");
  other.header("X-Forwarded-Proto", "any");
  CHECK(redirected(conf, other) == "301 https://localhost/b");
  CHECK(redirected(R"J({"http_to_https":false})J", "/b") == "-");
}
