// Resources: messages of the three check steps, parsed structs, kinds and keys.
#include "conf/model/model.hpp"

#include <catch2/catch.hpp>

#include "conf/schema/schema.hpp"

using namespace sluice;
using namespace sluice::conf;

namespace {

std::string check(Kind kind, std::string_view text, bool from_admin = true) {
  auto doc = parse_json(text);
  REQUIRE(doc.has_value());
  CheckOptions options;
  options.from_admin = from_admin;
  return check_all(kind, *doc, doc->GetAllocator(), false, options);
}

template <class T>
T parsed(Result<T> (*parse)(const Json&), std::string_view text) {
  auto doc = parse_json(text);
  REQUIRE(doc.has_value());
  auto out = parse(*doc);
  INFO((out ? std::string() : out.error().message()));
  REQUIRE(out.has_value());
  return *out;
}

constexpr const char* kNodes = R"("type":"roundrobin","nodes":{"127.0.0.1:80":1})";

}  // namespace

TEST_CASE("messages about routes", "[conf][model]") {
  const std::string up = R"("upstream":{"nodes":{"127.0.0.1:80":1}})";
  CHECK(check(Kind::route, "{\"uri\":\"/\"," + up + "}") == "");
  CHECK(check(Kind::route, R"({"uri":"/","host":"a","hosts":["b"]})") == "only one of host or hosts is allowed");
  CHECK(check(Kind::route, R"({"uri":"/","remote_addr":"1.1.1.1","remote_addrs":["1.1.1.1"]})") ==
        "only one of remote_addr or remote_addrs is allowed");
  CHECK(check(Kind::route, "{" + up + "}") ==
        "invalid configuration: allOf 1 failed: value should match only one schema, but matches none");
  CHECK(check(Kind::route, R"({"uri":"/","uris":["/"],"plugins":{}})") ==
        "invalid configuration: allOf 1 failed: value should match only one schema, but matches both schemas 1 and 2");
  CHECK(check(Kind::route, R"({"uri":"/"})")
            .find("invalid configuration: object matches none of the required: "
                  "[\"plugins\",\"uri\"] or [") == 0);
  CHECK(check(Kind::route, R"({"uri":"/","plugins":{},"id":"a b"})") ==
        "invalid configuration: property \"id\" validation failed: object matches none of the required");
  CHECK(check(Kind::route, R"({"uri":"/","plugins":{},"host":"a.*.foo.com"})") ==
        "invalid configuration: property \"host\" validation failed: failed to match pattern "
        "\"^\\\\*$|^\\\\*?[0-9a-zA-Z-._\\\\[\\\\]:]+$\" with \"a.*.foo.com\"");
  CHECK(check(Kind::route, R"({"uri":"/","plugins":{},"remote_addr":"1.1.1.1.1"})") ==
        "invalid configuration: property \"remote_addr\" validation failed: object matches none of the required");
  CHECK(check(Kind::route, R"({"uri":"/","plugins":{},"methods":["get"]})") ==
        "invalid configuration: property \"methods\" validation failed: failed to validate item 1: matches none of the "
        "enum values");
  CHECK(check(Kind::route, R"({"uri":"/","plugins":{},"oops":1})") ==
        "invalid configuration: additional properties forbidden, found oops");
  CHECK(check(Kind::route, R"({"uri":"/","script":"local a = 1","plugins":{}})") ==
        "invalid configuration: value wasn't supposed to match schema");
  CHECK(check(Kind::route, R"({"uri":"/","plugins":{},"filter_func":"function(vars) return true end"})") ==
        "failed to load 'filter_func' string: scripting is not available");
  for (const char* address : {"127.0.0.1", "10.0.0.0/8", "::1", "fe80::/10"})
    CHECK(check(Kind::route, R"({"uri":"/","plugins":{},"remote_addr":")" + std::string(address) + "\"}") == "");
}

TEST_CASE("messages about upstreams", "[conf][model]") {
  const auto with = [](const std::string& more) {
    return "{" + std::string(kNodes) + (more.empty() ? "" : "," + more) + "}";
  };
  CHECK(check(Kind::upstream, with("")) == "");
  CHECK(check(Kind::upstream, "{}") == "invalid configuration: value should match only one schema, but matches none");
  CHECK(check(Kind::upstream, R"({"nodes":{"127.0.0.1:0":1}})") == "invalid port 0");
  CHECK(check(Kind::upstream, R"({"nodes":{"127.0.0.1:65536":1}})") == "invalid port 65536");
  CHECK(check(Kind::upstream, R"({"nodes":{"127.0.0.1:80":-1}})") ==
        "invalid configuration: property \"nodes\" validation failed: object matches none of the required");
  CHECK(check(Kind::upstream, R"({"nodes":[{"host":"::1","port":80,"weight":1}]})") ==
        "invalid configuration: IPv6 address must be enclosed with '[' and ']'");
  CHECK(check(Kind::upstream, R"({"nodes":[{"host":"::1","port":80,"weight":1}]})", false) == "");
  CHECK(check(Kind::upstream, R"({"nodes":[{"host":"[::1]","port":80,"weight":1}]})") == "");
  CHECK(check(Kind::upstream, with(R"("pass_host":"rewrite")")) ==
        "`upstream_host` can't be empty when `pass_host` is `rewrite`");
  CHECK(check(Kind::upstream, R"({"nodes":{},"type":"chash"})") == "missing key");
  CHECK(check(Kind::upstream, R"({"nodes":[],"type":"chash","key":"arg_a"})") == "");
  CHECK(
      check(Kind::upstream, R"({"nodes":{},"type":"chash","key":"not_support"})") ==
      "invalid configuration: failed to match pattern "
      "\"^((uri|server_name|server_addr|request_uri|remote_port|remote_addr|query_string|host|hostname|mqtt_client_id)"
      "|arg_[0-9a-zA-z_-]+)$\" with \"not_support\"");
  CHECK(check(Kind::upstream, R"({"nodes":{},"type":"chash","hash_on":"cookie","key":"$#^@"})") ==
        "invalid configuration: failed to match pattern \"^[a-zA-Z0-9-_]+$\" with \"$#^@\"");
  CHECK(check(Kind::upstream, R"({"nodes":{},"type":"chash","hash_on":"consumer"})") == "");
  CHECK(check(Kind::upstream, with(R"("checks":{"passive":{}})")) ==
        "invalid configuration: property \"checks\" validation failed: object matches none of the required: "
        "[\"active\"] or [\"active\",\"passive\"]");
  CHECK(check(Kind::route, R"({"uri":"/","upstream":{"nodes":{"a:70000":1}}})") == "invalid port 70000");
}

TEST_CASE("a parsed upstream has its defaults", "[conf][model]") {
  const auto u = parsed(
      parse_upstream, R"({"id":7,"nodes":{"b.example:8080":2,"[::1]:80":1,"a":0},"checks":{"active":{"healthy":{}}}})");
  CHECK(u.id == "7");
  CHECK(u.type == BalancerType::roundrobin);
  REQUIRE(u.nodes.size() == 3);
  CHECK(u.nodes[0].host == "b.example");
  CHECK(u.nodes[0].port == 8080);
  CHECK(u.nodes[1].host == "::1");
  CHECK(u.nodes[2].port == 0);
  CHECK(u.pass_host == PassHost::pass);
  CHECK(!u.retries);
  REQUIRE(u.checks);
  CHECK(u.checks->active.healthy.interval == 1);
  CHECK(u.checks->active.unhealthy.interval == 0);
  CHECK(u.checks->active.unhealthy.tcp_failures == 2);
  CHECK(u.checks->active.http_path == "/");
  CHECK(!u.checks->passive);
  const auto odd = parsed(
      parse_upstream,
      R"({"nodes":[{"host":"[::1]","weight":1}],"type":"mine","timeout":{"connect":0.5,"send":1,"read":2},"tls":{"client_cert_id":3},"retries":0,"scheme":"grpcs","keepalive_pool":{"size":1}})");
  CHECK(odd.type == BalancerType::unknown);
  CHECK(odd.type_text == "mine");
  CHECK(odd.nodes[0].host == "::1");
  CHECK(odd.timeout->connect == 0.5);
  CHECK(odd.tls.client_cert_id == "3");
  CHECK(odd.retries == 0);
  CHECK(odd.scheme == Scheme::grpcs);
  CHECK(odd.keepalive_pool->requests == 1000);
}

TEST_CASE("parsed routes, services, consumers and sets", "[conf][model]") {
  const auto r = parsed(
      parse_route,
      R"({"id":"r","uris":["/a","/b"],"host":"Foo.COM","plugins":{"limit-req":{"rate":1}},"service_id":3,"status":0,"priority":-2,"vars":[["arg_a","==","1"]],"labels":{"b":"x","a":"y"},"upstream":{"nodes":{}}})");
  CHECK(r.uris == std::vector<std::string>{"/a", "/b"});
  CHECK(r.hosts == std::vector<std::string>{"foo.com"});
  CHECK(r.service_id == "3");
  CHECK(!r.enabled);
  CHECK(r.priority == -2);
  CHECK(r.plugins.at(0).first == "limit-req");
  CHECK(to_json(r.plugins[0].second.get()) == "{\"rate\":1}");
  CHECK(to_json(r.vars.get()) == R"([["arg_a","==","1"]])");
  CHECK(r.labels[0].first == "b");
  CHECK(r.upstream->nodes.empty());
  CHECK(!r.enable_websocket);
  const auto s = parsed(parse_service, "{}");
  CHECK(s.hosts.empty());
  const auto c = parsed(parse_consumer, R"({"username":"jack","group_id":5,"labels":{"custom_id":"42"}})");
  CHECK(c.group_id == "5");
  CHECK(c.custom_id == "42");
  const auto cred = parsed(parse_credential, R"({"id":"jack/credentials/cred-1","plugins":{"key-auth":{"key":"x"}}})");
  CHECK(cred.id == "cred-1");
  CHECK(parsed(parse_global_rule, R"({"id":1,"plugins":{}})").id == "1");
  auto two = parse_json(R"({"id":"a","plugins":{"x":{},"y":{}}})");
  CHECK(parse_credential(*two).error().message() ==
        "invalid configuration: property \"plugins\" validation failed: expect object to have at most 1 properties");
  CHECK(parsed(parse_plugin_list, R"([{"name":"a"},{"name":"b","stream":true}])")[1].stream);
}

TEST_CASE("certificates and protos are looked into", "[conf][model]") {
  const std::string junk(200, 'x');
  CHECK(check(Kind::ssl, R"({"sni":"a.com","cert":")" + junk + R"(","key":")" + junk + "\"}")
            .find("failed to parse cert: ") == 0);
  CHECK(check(Kind::ssl, R"({"cert":"$env://C","key":"$env://K"})") ==
        "invalid configuration: then clause did not match");
  CHECK(check(Kind::ssl, R"({"sni":"a.com","cert":"$env://C","key":"$env://K"})") == "");
  CHECK(check(Kind::ssl, R"({"sni":"a.com","cert":"$env://C","key":")" + junk + "\"}") ==
        "failed to decrypt previous encrypted key");
  CHECK(check(Kind::ssl, R"({"type":"client","cert":"$env://C","key":"$env://K","certs":["$env://C"]})") ==
        "mismatched number of certs and keys");
  CHECK(check(Kind::proto, R"({"content":"syntax = \"proto3\"; package p; message M { string name = 1; }"})") == "");
  CHECK(
      check(
          Kind::proto,
          R"({"content":"syntax = \"proto3\"; import \"google/protobuf/timestamp.proto\"; message M { google.protobuf.Timestamp t = 1; }"})") ==
      "");
  CHECK(check(Kind::proto, R"({"content":"message {"})").find("invalid content: ") == 0);
  CHECK(check(Kind::proto, R"({"content":"syntax = \"proto3\"; message M { Unknown u = 1; }"})")
            .find("invalid content: ") == 0);
  CHECK(check(Kind::stream_route, R"({"remote_addr":":/8"})") == "invalid remote_addr: :/8");
  CHECK(check(Kind::stream_route, R"({"protocol":{"name":"xxx"}})") == "unknown protocol [xxx]");
}

TEST_CASE("kinds and keys", "[conf][model]") {
  for (const auto& k : all_kinds()) CHECK(info(k.kind).collection == k.collection);
  CHECK(kind_of_collection("ssls") == Kind::ssl);
  CHECK(!kind_of_collection("routs"));
  CHECK(kind_of_schema("consumer_group") == Kind::consumer_group);
  CHECK(split_key("routes/1")->kind == Kind::route);
  CHECK(split_key("consumers/jack/credentials/a")->kind == Kind::credential);
  CHECK(split_key("consumers/jack/credentials/a")->id == "jack/credentials/a");
  CHECK(split_key("secrets/vault/1")->id == "vault/1");
  CHECK(join_key(Kind::credential, "jack/credentials/a") == "consumers/jack/credentials/a");
  CHECK(!split_key("routes/"));
  CHECK(!split_key("nope/1"));
  CHECK(valid_id("a-Z_0.9"));
  CHECK(!valid_id(""));
  CHECK(!valid_id(std::string(65, 'a')));
  CHECK(!valid_id("a/b"));
  CHECK(id_text(*parse_json("12")) == "12");
}

TEST_CASE("published schemas carry what clients look for", "[conf][model]") {
  const auto doc = schema::to_json_schema(node_of(Kind::upstream));
  CHECK(to_json(*find(*find(doc, "properties"), "retries")).find("\"minimum\":0") != std::string::npos);
  const auto meta = schema::to_json_schema(with_plugin_meta(schema::object().closed()));
  CHECK(find(*find(meta, "properties"), "_meta") != nullptr);
  CHECK(secret_node("vault") != nullptr);
  CHECK(secret_node("nope") == nullptr);
}

TEST_CASE("a node's port may stand in its host", "[conf][model]") {
  const Upstream u = parsed(parse_upstream, R"({"nodes":[{"host":"127.0.0.1:1980","weight":1},{"host":"a:1","port":2,"weight":1},
                                                        {"host":"[::1]:3","weight":1},{"host":"::1","weight":1}]})");
  CHECK(u.nodes[0].host == "127.0.0.1");
  CHECK(u.nodes[0].port == 1980);
  CHECK(u.nodes[1].port == 2);
  CHECK(u.nodes[2].host == "::1");
  CHECK(u.nodes[2].port == 3);
  CHECK(u.nodes[3].host == "::1");
  CHECK(u.nodes[3].port == 0);
}
