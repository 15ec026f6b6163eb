// The Admin API, endpoint by endpoint, without sockets.
#include <catch2/catch.hpp>

#include "admin/store/sqlite.hpp"
#include "test/admin/api_fixture.hpp"

using namespace sluice;
using namespace sluice::admin;
using test::ApiFixture;

namespace {

constexpr const char* kRoute = R"({"uri":"/hello","upstream":{"type":"roundrobin","nodes":{"127.0.0.1:1980":1}}})";
constexpr const char* kUpstream = R"({"type":"roundrobin","nodes":{"127.0.0.1:1980":1}})";

std::string refused(ApiFixture& f, const char* method, const std::string& path, const std::string& body,
                    unsigned status = 400) {
  const http::Response r = f.admin(method, path, body);
  CHECK(r.status == status);
  return ApiFixture::error_of(r);
}

std::string header(const http::Response& r, std::string_view name) {
  for (const auto& [n, v] : r.headers)
    if (n == name) return v;
  return "none";
}

Json copy(const http::Response& r, JsonDoc& doc) {
  doc = std::move(*parse_json(r.body));
  return Json(doc, doc.GetAllocator());
}

const Json& value_of(const http::Response& r, JsonDoc& doc) {
  doc = std::move(*parse_json(r.body));
  return *find(doc, "value");
}

}  // namespace

TEST_CASE("PUT, GET, DELETE of one object", "[admin][api]") {
  ApiFixture f;
  auto put = f.admin("PUT", "/routes/1", kRoute);
  CHECK(put.status == 201);
  CHECK(put.content_type == "application/json");
  CHECK(put.body.back() == '\n');
  CHECK(header(put, "X-API-VERSION") == "v3");
  CHECK(header(put, "Access-Control-Allow-Origin") == "*");
  CHECK(header(put, "X-Sluice-Revision") == "1");
  CHECK(header(put, "X-Sluice-Applied") == "2/2");
  JsonDoc doc;
  CHECK(to_json(*find(value_of(put, doc), "id")) == "\"1\"");
  const std::string created = to_json(*find(value_of(put, doc), "create_time"));
  f.now_ms += 5000;
  auto again = f.admin("PUT", "/routes/1", kRoute);
  CHECK(again.status == 200);
  CHECK(to_json(*find(value_of(again, doc), "create_time")) == created);
  CHECK(to_json(*find(value_of(again, doc), "update_time")) == "1700000005");
  auto got = f.admin("GET", "/routes/1");
  CHECK(got.status == 200);
  copy(got, doc);
  CHECK(to_json(*find(doc, "key")) == "\"/apisix/routes/1\"");
  CHECK(to_json(*find(doc, "createdIndex")) == "1");
  CHECK(to_json(*find(doc, "modifiedIndex")) == "2");
  auto deleted = f.admin("DELETE", "/routes/1");
  CHECK(deleted.status == 200);
  CHECK(deleted.body == "{\"deleted\":\"1\",\"key\":\"/apisix/routes/1\"}\n");
  CHECK(refused(f, "DELETE", "/routes/1", "", 404) == "Key not found");
  CHECK(refused(f, "GET", "/routes/1", "", 404) == "Key not found");
  REQUIRE(f.sink.changes.size() == 3);
  CHECK(f.sink.changes[2].removed);
  CHECK(f.sink.changes[0].id == "1");
}

TEST_CASE("defaults are not written into what is stored", "[admin][api]") {
  ApiFixture f;
  f.admin("PUT", "/upstreams/1", R"({"nodes":{"127.0.0.1:80":1}})");
  CHECK(f.admin("GET", "/upstreams/1").body.find("roundrobin") == std::string::npos);
}

TEST_CASE("POST makes an id from the revision", "[admin][api]") {
  ApiFixture f;
  f.admin("PUT", "/routes/1", kRoute);
  auto post = f.admin("POST", "/routes", kRoute);
  CHECK(post.status == 201);
  CHECK(post.body.find("\"key\":\"/apisix/routes/00000000000000000002\"") != std::string::npos);
  CHECK(f.admin("GET", "/routes/00000000000000000002").status == 200);
}

TEST_CASE("id rules", "[admin][api]") {
  ApiFixture f;
  CHECK(refused(f, "PUT", "/routes", kRoute) == "missing route id");
  CHECK(refused(f, "PUT", "/routes/1", R"({"id":3,"uri":"/"})") == "wrong route id");
  CHECK(refused(f, "POST", "/routes", R"({"id":1,"uri":"/"})") == "wrong route id, do not need it");
  CHECK(refused(f, "POST", "/routes/1", R"({"uri":"/"})") == "wrong route id, do not need it");
  CHECK(refused(f, "DELETE", "/routes/", "") == "missing route id");
  CHECK(refused(f, "PATCH", "/routes", "{}") == "missing route id");
  CHECK(refused(f, "PUT", "/routes/1", "") == "missing configurations");
  CHECK(refused(f, "PUT", "/routes", R"({"id":-100,"uri":"/"})") ==
        "invalid configuration: property \"id\" validation failed: object matches none of the required");
  CHECK(refused(f, "PUT", "/routes/a%20b", kRoute) ==
        "invalid configuration: property \"id\" validation failed: object matches none of the required");
  CHECK(f.admin("PUT", "/routes", R"({"id":7,"uri":"/","plugins":{}})").status == 201);
  JsonDoc doc;
  CHECK(to_json(*find(value_of(f.admin("GET", "/routes/7"), doc), "id")) == "7");
}

TEST_CASE("methods that a kind does not offer", "[admin][api]") {
  ApiFixture f;
  CHECK(refused(f, "POST", "/consumers", "{}", 405) == "not supported `POST` method for consumer");
  CHECK(refused(f, "PATCH", "/consumers/a", "{}", 405) == "not supported `PATCH` method for consumer");
  CHECK(refused(f, "PATCH", "/protos/a", "{}", 405) == "not supported `PATCH` method for proto");
  CHECK(refused(f, "POST", "/consumer_groups", "{}", 405) == "not supported `POST` method for consumer group");
  CHECK(refused(f, "GET", "/routs", "", 404) == "Unsupported resource type: routs");
  CHECK(refused(f, "GET", "/credentials", "", 404) == "Unsupported resource type: credentials");
  CHECK(f.call("GET", "/elsewhere").content_type == "text/html");
  CHECK(f.call("TRACE", "/apisix/admin/routes").status == 404);
}

TEST_CASE("who may come in", "[admin][api][access]") {
  ApiFixture f;
  const auto with = [&](const char* method, std::vector<std::pair<std::string, std::string>> headers,
                        const char* target = "/apisix/admin/routes") {
    return f.call(method, target, "", std::move(headers));
  };
  CHECK(with("GET", {}).body == "{\"error_msg\":\"failed to check token\",\"description\":\"missing apikey\"}\n");
  CHECK(with("GET", {}).status == 401);
  CHECK(header(with("GET", {}), "X-API-VERSION") == "none");
  CHECK(with("GET", {{"X-API-KEY", "nope"}}).body.find("wrong apikey") != std::string::npos);
  CHECK(with("GET", {{"x-api-key", "the-key"}}).status == 200);
  CHECK(with("GET", {{"Cookie", "a=b; x_api_key=the-key"}}).status == 200);
  CHECK(with("GET", {}, "/apisix/admin/routes?api_key=the-key").status == 200);
  CHECK(with("GET", {{"X-API-KEY", "the-key"}}, "/apisix/admin/routes?api_key=wrong").status == 401);
  CHECK(with("GET", {{"X-API-KEY", "view-key"}}).status == 200);
  CHECK(with("PUT", {{"X-API-KEY", "view-key"}}).body.find("invalid method for role viewer") != std::string::npos);
  CHECK(with("HEAD", {}, "/apisix/admin").status == 200);
  const auto options = with("OPTIONS", {});
  CHECK(options.status == 200);
  CHECK(options.content_type == "text/plain");
  CHECK(header(options, "Access-Control-Allow-Methods") == "POST, GET, PUT, OPTIONS, DELETE, PATCH");
}

TEST_CASE("the address filter", "[admin][api][access]") {
  ApiOptions o = ApiFixture::default_options();
  CidrSet set;
  set.add("10.0.0.0/8");
  set.seal();
  o.allow = set;
  ApiFixture f(o);
  CHECK(f.admin("GET", "/routes").status == 403);
  o.allow = CidrSet();
  ApiFixture nobody(o);
  CHECK(nobody.admin("GET", "/routes").status == 403);
}

TEST_CASE("no key needed, no CORS", "[admin][api][access]") {
  ApiOptions o = ApiFixture::default_options();
  o.key_required = false;
  o.cors = false;
  ApiFixture f(o);
  const auto r = f.call("GET", "/apisix/admin/routes", "", {});
  CHECK(r.status == 200);
  CHECK(header(r, "Access-Control-Allow-Origin") == "none");
  CHECK(f.call("OPTIONS", "/apisix/admin/routes", "", {}).status == 404);
}

TEST_CASE("bodies that are no JSON", "[admin][api]") {
  ApiFixture f;
  const auto r = f.admin("PUT", "/routes/1", "{\"uri\":");
  CHECK(r.status == 400);
  CHECK(ApiFixture::error_of(r).starts_with("invalid request body: "));
  CHECK(r.body.find("\"req_body\":\"{\\\"uri\\\":\"") != std::string::npos);
  CHECK(refused(f, "PUT", "/routes/1?ttl=x", kRoute) == "invalid argument ttl: should be a number");
  CHECK(f.admin("PUT", "/routes/1", "[1]").status == 400);
  CHECK(f.admin("PUT", "/routes/1", "5").status == 400);
  CHECK(f.admin("PUT", "/consumers", "\"x\"").status == 400);
  CHECK(f.admin("PUT", "/secrets/vault/1", "[]").status == 400);
  CHECK(f.admin("PUT", "/plugin_metadata/echo", "[]").status == 400);
  CHECK(f.admin("PUT", "/ssls/1", "[]").status == 400);
  CHECK(f.sink.batches == 0);
}

TEST_CASE("forbidden times and schema errors", "[admin][api]") {
  ApiFixture f;
  CHECK(refused(f, "PUT", "/routes/1", R"({"uri":"/","create_time":1})") == "the property is forbidden:  create_time");
  CHECK(refused(f, "PUT", "/routes/1", R"({"uri":"/","upstream":{"update_time":1}})") ==
        "the property is forbidden:  upstream.update_time");
  CHECK(refused(f, "PUT", "/routes/1", R"({"uri":"/","plugins":{"create_time":{}}})") ==
        "the property is forbidden:  plugins.create_time");
  CHECK(refused(f, "PUT", "/routes/1", R"({"uri":5,"plugins":{}})") ==
        "invalid configuration: property \"uri\" validation failed: wrong type: expected string, got number");
  CHECK(refused(f, "PUT", "/routes/1", R"({"uri":"/","plugins":{"no-such":{}}})") == "unknown plugin [no-such]");
  CHECK(refused(f, "PUT", "/routes/1", R"({"uri":"/","plugins":{},"vars":[["a","=","b"]]})") ==
        "failed to validate the 'vars' expression: invalid operator '='");
}

TEST_CASE("references must lead somewhere", "[admin][api]") {
  ApiFixture f;
  CHECK(refused(f, "PUT", "/routes/1", R"({"uri":"/","upstream_id":"9"})") ==
        "failed to fetch upstream info by upstream id [9], response code: 404");
  CHECK(refused(f, "PUT", "/routes/1", R"({"uri":"/","service_id":9})") ==
        "failed to fetch service info by service id [9], response code: 404");
  CHECK(refused(f, "PUT", "/routes/1", R"({"uri":"/","plugins":{},"plugin_config_id":"x"})") ==
        "failed to fetch plugin config info by plugin config id [x], response code: 404");
  CHECK(refused(f, "PUT", "/consumers", R"({"username":"jack","group_id":"g"})") ==
        "failed to fetch consumer group info by consumer group id [g], response code: 404");
  f.admin("PUT", "/upstreams/9", kUpstream);
  CHECK(f.admin("PUT", "/routes/1", R"({"uri":"/","upstream_id":9})").status == 201);
}

TEST_CASE("what is in use is not deleted, and everyone who uses it is named", "[admin][api]") {
  ApiFixture f;
  f.admin("PUT", "/upstreams/1", kUpstream);
  f.admin("PUT", "/routes/1", R"({"uri":"/","upstream_id":1})");
  f.admin("PUT", "/services/5", R"({"upstream_id":"1"})");
  const auto r = f.admin("DELETE", "/upstreams/1?force=anyvalue");
  CHECK(r.status == 400);
  CHECK(ApiFixture::error_of(r) == "can not delete this upstream, route [1] is still using it now");
  CHECK(r.body.find("\"references\":[\"route [1]\",\"service [5]\"]") != std::string::npos);
  CHECK(f.admin("DELETE", "/upstreams/1?force=true").status == 200);
  f.admin("PUT", "/routes/2", R"({"uri":"/","service_id":"5"})");
  CHECK(refused(f, "DELETE", "/services/5", "") ==
        "can not delete this service directly, route [2] is still using it now");
}

TEST_CASE("PATCH merges, replaces at a sub-path and keeps what it does not name", "[admin][api]") {
  ApiFixture f;
  f.admin("PUT", "/routes/1", R"({"uri":"/","desc":"d","methods":["GET","PUT"],"plugins":{}})");
  JsonDoc doc;
  auto r = f.admin("PATCH", "/routes/1", R"({"desc":null,"name":"n"})");
  CHECK(r.status == 200);
  CHECK(find(value_of(r, doc), "desc") == nullptr);
  CHECK(to_json(*find(value_of(r, doc), "methods")) == R"(["GET","PUT"])");
  r = f.admin("PATCH", "/routes/1/methods", R"(["GET"])");
  CHECK(to_json(*find(value_of(r, doc), "methods")) == R"(["GET"])");
  CHECK(f.admin("PATCH", "/routes/1/", R"({"desc":"e"})").status == 200);
  CHECK(refused(f, "PATCH", "/routes/2", "{}", 404) == "Key not found");
  CHECK(refused(f, "PATCH", "/routes/1", "[]") == "invalid configuration");
  CHECK(refused(f, "PATCH", "/routes/1", "") == "missing new configuration");
  CHECK(refused(f, "PATCH", "/routes/1/uri/x", "1") == "invalid sub-path: /uri");
  CHECK(f.admin("PATCH", "/routes/1/desc", "null").status == 400);
  r = f.admin("PATCH", "/routes/1", R"({"create_time":5,"update_time":6})");
  CHECK(to_json(*find(value_of(r, doc), "update_time")) == "6");
}

TEST_CASE("writes that pipeline do not lose each other's changes", "[admin][api]") {
  ApiFixture f;
  f.admin("PUT", "/routes/1", kRoute);
  for (int round = 0; round < 20; ++round) {
    const std::string n = std::to_string(round);
    std::optional<http::Response> a, b;
    f.begin("PATCH", "/routes/1", R"({"labels":{"a":")" + n + R"("}})", a);
    f.begin("PATCH", "/routes/1", R"({"desc":")" + n + R"("})", b);
    f.loop.run_until([&] { return a && b; });
    CHECK(a->status == 200);
    CHECK(b->status == 200);
    JsonDoc doc;
    const http::Response got = f.admin("GET", "/routes/1");
    CHECK(to_json(*find(value_of(got, doc), "labels")) == R"({"a":")" + n + R"("})");
    CHECK(to_json(*find(value_of(got, doc), "desc")) == "\"" + n + "\"");
  }
}

TEST_CASE("a reference that is on its way protects what it names", "[admin][api]") {
  ApiFixture f;
  f.admin("PUT", "/upstreams/1", kUpstream);
  std::optional<http::Response> put, del;
  f.begin("PUT", "/routes/1", R"({"uri":"/","upstream_id":1})", put);
  f.begin("DELETE", "/upstreams/1", "", del);
  f.loop.run_until([&] { return put && del; });
  CHECK(put->status == 201);
  CHECK(del->status == 400);
}

TEST_CASE("lists: filters and paging", "[admin][api]") {
  ApiFixture f;
  CHECK(f.admin("GET", "/routes").body == "{\"total\":0,\"list\":[]}\n");
  f.admin("PUT", "/services/1", "{}");
  for (int i = 1; i <= 25; ++i)
    f.admin("PUT", "/routes/" + std::to_string(i),
            R"({"uri":"/p)" + std::to_string(i) + R"(","name":"n)" + std::to_string(i % 2) + R"(","plugins":{})" +
                (i == 3 ? R"(,"labels":{"env":"x"})" : "") + (i == 4 ? R"(,"service_id":"1")" : "") + "}");
  const auto total = [&](const std::string& query) {
    auto doc = parse_json(f.admin("GET", "/routes?" + query).body);
    return doc && find(*doc, "total") != nullptr
               ? to_json(*find(*doc, "total")) + "/" + std::to_string(find(*doc, "list")->Size())
               : "none";
  };
  CHECK(total("name=n1") == "13/13");
  CHECK(total("label=env") == "1/1");
  CHECK(total("uri=p2%24") == "1/1");
  CHECK(total("filter=service_id%3D1") == "1/1");
  CHECK(total("filter=service_id%3D2") == "0/0");
  CHECK(total("filter=no_such%3D2") == "25/25");
  CHECK(total("page=1&page_size=10") == "25/10");
  CHECK(total("page=3&page_size=10") == "25/5");
  CHECK(total("page=9&page_size=10") == "25/0");
  CHECK(total("page=-1&page_size=10") == "25/10");
  CHECK(total("page=x&page_size=10") == "25/25");
  CHECK(total("page=1e30&page_size=10") == "25/0");
  const auto small = f.admin("GET", "/routes?page=1&page_size=2");
  CHECK(small.status == 400);
  CHECK(small.body == "page_size must be between 10 and 500");
  CHECK(f.admin("GET", "/routes?name=%5B").status == 400);
}

TEST_CASE("ttl", "[admin][api]") {
  ApiFixture f;
  f.admin("PUT", "/routes/1?ttl=1", kRoute);
  f.admin("PUT", "/routes/2?ttl=1", kRoute);
  f.admin("PUT", "/routes/2", kRoute);
  f.now_ms += 999;
  CHECK(f.configuration->expire(f.now_ms) == 0);
  f.now_ms += 2;
  CHECK(f.configuration->expire(f.now_ms) == 1);
  f.loop.run_until([&] { return f.configuration->pending() == 0; });
  CHECK(f.admin("GET", "/routes/1").status == 404);
  CHECK(f.admin("GET", "/routes/2").status == 200);
  CHECK(f.sink.changes.back().removed);
}

TEST_CASE("everything is there after a restart", "[admin][api]") {
  ApiFixture f;
  f.admin("PUT", "/upstreams/1", kUpstream);
  f.admin("PUT", "/routes/1", R"({"uri":"/","upstream_id":1})");
  f.reopen();
  CHECK(f.configuration->everything().size() == 2);
  CHECK(refused(f, "DELETE", "/upstreams/1", "") == "can not delete this upstream, route [1] is still using it now");
}

TEST_CASE("consumers, credentials and the uniqueness of keys", "[admin][api]") {
  ApiFixture f;
  CHECK(refused(f, "PUT", "/consumers", R"({"id":"jack"})") ==
        "invalid configuration: property \"username\" is required");
  CHECK(refused(f, "PUT", "/consumers/joe", R"({"username":"jack"})") == "wrong username");
  CHECK(refused(f, "PUT", "/consumers/jack/credentials/a", R"({"plugins":{"key-auth":{"key":"k"}}})", 404) ==
        "consumer not found");
  auto put = f.admin("PUT", "/consumers", R"({"username":"jack","plugins":{"key-auth":{"key":"k1"}}})");
  CHECK(put.status == 201);
  JsonDoc doc;
  CHECK(find(value_of(put, doc), "id") == nullptr);
  CHECK(f.admin("GET", "/consumers/jack/credentials").status == 404);
  CHECK(f.admin("PUT", "/consumers/jack/credentials/a", R"({"plugins":{"key-auth":{"key":"k2"}}})").status == 201);
  CHECK(refused(f, "PUT", "/consumers/jack/credentials/b", R"({"plugins":{"echo":{"body":"x"}}})") ==
        "only supports auth type plugins in consumer credential");
  CHECK(refused(f, "PUT", "/consumers/jack/credentials", R"({"plugins":{}})") == "missing credential id");
  CHECK(refused(f, "PUT", "/consumers", R"({"username":"joe","plugins":{"key-auth":{"key":"k1"}}})") ==
        "duplicate key of plugin key-auth found with consumer: jack");
  CHECK(refused(f, "PUT", "/consumers", R"({"username":"joe","plugins":{"key-auth":{"key":"k2"}}})") ==
        "duplicate key of plugin key-auth found with credential: a of consumer: jack");
  CHECK(f.admin("PUT", "/consumers", R"({"username":"jack","plugins":{"key-auth":{"key":"k2"}}})").status == 200);
  CHECK(f.admin("PUT", "/consumers", R"({"username":"joe","plugins":{"key-auth":{"key":"k1"}}})").status == 201);
  CHECK(f.admin("GET", "/consumers").body.find("credentials") == std::string::npos);
  CHECK(f.admin("DELETE", "/consumers/jack").status == 200);
  CHECK(f.admin("GET", "/consumers/jack/credentials/a").status == 404);
  CHECK(f.admin("PUT", "/consumers", R"({"username":"joe","plugins":{"key-auth":{"key":"k2"}}})").status == 200);
  CHECK(refused(f, "PUT", "/consumers", R"({"username":"x","plugins":{"key-auth":{}}})") ==
        "invalid plugins configuration: failed to check the configuration of plugin key-auth err: property \"key\" is "
        "required");
}

TEST_CASE("secrets never lie in the store, whatever is patched", "[admin][api][secrets]") {
  ApiFixture f;
  const std::string secret = "a-key-nobody-may-read-on-disk";
  auto put = f.admin("PUT", "/consumers", R"({"username":"jack","plugins":{"key-auth":{"key":")" + secret + "\"}}}");
  REQUIRE(put.status == 201);
  CHECK(put.body.find(secret) == std::string::npos);
  f.admin("PUT", "/plugin_configs/1", R"({"plugins":{}})");
  for (int i = 0; i < 5; ++i)
    CHECK(f.admin("PUT", "/consumers",
                  R"({"username":"jack","labels":{"n":")" + std::to_string(i) + R"("},"plugins":{"key-auth":{"key":")" +
                      secret + "\"}}}")
              .status == 200);
  CHECK(f.admin("PUT", "/consumers", R"({"username":"jack","plugins":{"key-auth":{"key":5}}})").status == 400);
  CHECK(f.admin("GET", "/consumers/jack").body.find(secret) != std::string::npos);
  f.store->close();
  CHECK(f.raw_store().find(secret) == std::string::npos);
  f.reopen();
  CHECK(f.admin("GET", "/consumers/jack").body.find(secret) != std::string::npos);
  CHECK(f.configuration->everything()[0].json.find(secret) != std::string::npos);
}

TEST_CASE("credentials keep their key through partial updates", "[admin][api][secrets]") {
  ApiFixture f;
  f.admin("PUT", "/services/1", R"({"plugins":{"key-auth":{}}})");
  f.admin("PUT", "/upstreams/1", R"({"nodes":{"127.0.0.1:80":1},"scheme":"https","tls":{"client_cert_id":"nope"}})");
  CHECK(f.admin("GET", "/upstreams/1").status == 404);
  const std::string token = "hvs.token-of-the-vault-server";
  CHECK(f.admin("PUT", "/secrets/vault/1", R"({"uri":"http://127.0.0.1:8200","prefix":"kv","token":")" + token + "\"}")
            .status == 201);
  for (int i = 0; i < 5; ++i)
    CHECK(f.admin("PATCH", "/secrets/vault/1", R"({"prefix":"kv)" + std::to_string(i) + "\"}").status == 200);
  JsonDoc doc;
  const auto got = f.admin("GET", "/secrets/vault/1");
  CHECK(text_of(*find(value_of(got, doc), "token")) == token);
  CHECK(text_of(*find(value_of(got, doc), "id")) == "vault/1");
  CHECK(text_of(*find(value_of(got, doc), "prefix")) == "kv4");
  CHECK(refused(f, "PUT", "/secrets/other/1", "{}") == "invalid secret manager: other");
  CHECK(refused(f, "PATCH", "/secrets/vault", "{}") == "no secret id");
  CHECK(f.admin("GET", "/secrets").body.find("\"total\":1") != std::string::npos);
}

TEST_CASE("global rules share no plugin", "[admin][api]") {
  ApiFixture f;
  CHECK(f.admin("PUT", "/global_rules/1", R"({"plugins":{"echo":{"body":"x"}}})").status == 201);
  CHECK(f.admin("PUT", "/global_rules/1", R"({"plugins":{"echo":{"body":"y"}}})").status == 200);
  CHECK(refused(f, "PUT", "/global_rules/2", R"({"plugins":{"echo":{"body":"y"}}})") ==
        "plugin 'echo' already exists in global rule with id '1'");
}

TEST_CASE("cost decorations", "[admin][api]") {
  ApiFixture f;
  const std::string at = "/services/shop/graphql_cost_decorations";
  CHECK(refused(f, "PUT", at + "/d1", R"({"field_path":"Query.a"})", 404) == "service not found");
  f.admin("PUT", "/services/shop", R"({"upstream":{"nodes":{"127.0.0.1:80":1}}})");
  CHECK(f.admin("PUT", at + "/d1", R"({"field_path":"Query.a"})").status == 201);
  CHECK(refused(f, "PUT", at + "/d2", R"({"field_path":"Query.b","service_id":"x"})") ==
        "wrong service_id, it is taken from the path");
  CHECK(refused(f, "PUT", at + "/d2", R"({"field_path":"Query.a"})") ==
        "field_path Query.a is already decorated on this service by [d1]");
  CHECK(refused(f, "PATCH", at + "/d1", R"({"service_id":"y"})") == "service_id can not be patched");
  CHECK(refused(f, "PATCH", at + "/d1/add_value", "7") == "invalid sub-path: /add_value");
  CHECK(f.admin("PATCH", at + "/d1", R"({"add_value":7})").status == 200);
  CHECK(f.admin("POST", at, R"({"field_path":"Query.c"})").status == 201);
  CHECK(f.admin("GET", "/services").body.find("field_path") == std::string::npos);
  CHECK(f.admin("DELETE", "/services/shop").status == 200);
  CHECK(refused(f, "GET", at, "", 404) == "Key not found");
}

TEST_CASE("plugins and schemas", "[admin][api]") {
  ApiFixture f;
  CHECK(f.admin("GET", "/plugins/list").body.find("\"echo\"") != std::string::npos);
  CHECK(f.admin("GET", "/plugins/list?subsystem=x").body == "invalid subsystem passed");
  CHECK(f.admin("GET", "/plugins/echo").body.find("\"_meta\"") != std::string::npos);
  CHECK(refused(f, "GET", "/plugins/nope", "", 404) == "plugin not found in subsystem http");
  CHECK(refused(f, "GET", "/plugins/echo?subsystem=x", "") == "unsupported subsystem: x");
  CHECK(refused(f, "GET", "/plugins/echo?schema_type=consumer", "") == "not found schema");
  CHECK(f.admin("GET", "/plugins/key-auth?schema_type=consumer").body.find("\"key\"") != std::string::npos);
  CHECK(refused(f, "POST", "/plugins/echo", "", 404) == "not found");
  CHECK(f.admin("GET", "/plugins?all=true").status == 200);
  CHECK(f.admin("PUT", "/plugins/reload").body == "done");
  CHECK(f.sink.reloads == 1);
  CHECK(refused(f, "GET", "/plugins/reload", "", 405) ==
        "please use PUT method to reload the plugins, GET method is not allowed.");
  CHECK(f.admin("GET", "/schema/route").status == 200);
  CHECK(refused(f, "GET", "/schema/noexits", "") == "not found schema: noexits");
  CHECK(refused(f, "PUT", "/schema/service", "", 404) == "not found");
  CHECK(f.admin("POST", "/schema/validate/routes", kRoute).body.empty());
  CHECK(refused(f, "POST", "/schema/validate/routes", R"({"uri":666,"plugins":{}})") ==
        "property \"uri\" validation failed: wrong type: expected string, got number");
  CHECK(refused(f, "POST", "/schema/validate/routs", "{}", 404) == "Unsupported resource type: routs");
}

TEST_CASE("stream routes need the stream mode", "[admin][api]") {
  ApiOptions o = ApiFixture::default_options();
  o.stream_mode = false;
  ApiFixture off(o);
  CHECK(refused(off, "GET", "/stream_routes", "") == "stream mode is disabled, can not add stream routes");
  ApiFixture f;
  CHECK(f.admin("PUT", "/stream_routes/1", R"({"upstream":{"nodes":{"127.0.0.1:80":1}}})").status == 201);
  CHECK(refused(f, "PUT", "/stream_routes/2", R"({"protocol":{"name":"redis","superior_id":"2"}})") ==
        "stream route can not set itself as superior_id");
}

TEST_CASE("a whole document is validated, nothing of it stored", "[admin][api]") {
  ApiFixture f;
  CHECK(f.admin("POST", "/configs/validate", R"({"routes":[{"id":"1","uri":"/","plugins":{}}]})").body == "{}\n");
  CHECK(refused(f, "POST", "/configs/validate", "") == "invalid request body: empty request body");
  const auto bad = f.admin("POST", "/configs/validate",
                           R"({"routes":[{"id":"r0","uri":"/","plugins":{}},{"id":"r1","uri":5,"plugins":{}}]})");
  CHECK(bad.status == 400);
  CHECK(bad.body.find(R"("resource_type":"routes","resource_id":"r1","index":1)") != std::string::npos);
  const auto warned = f.admin("POST", "/configs/validate", R"({"routes":[{"id":"1","uri":"/","upstream_id":"9"}]})");
  CHECK(warned.status == 200);
  CHECK(warned.body.find("warnings") != std::string::npos);
  const auto yaml =
      f.call("POST", "/apisix/admin/configs/validate", "routes:\n  - id: 1\n    uri: /a\n    plugins: {}\n",
             {{"X-API-KEY", "the-key"}, {"Content-Type", "application/yaml"}});
  CHECK(yaml.status == 200);
  CHECK(f.sink.batches == 0);
}

TEST_CASE("writes are refused while another process takes over", "[admin][api]") {
  ApiFixture f;
  f.api->stop_writes();
  CHECK(f.admin("PUT", "/routes/1", kRoute).status == 503);
  CHECK(f.admin("GET", "/routes").status == 200);
}

TEST_CASE("a store that fails answers 503 and nothing stays half done", "[admin][api]") {
  ApiFixture f;
  f.admin("PUT", "/routes/1", kRoute);
  auto thief = make_embedded_store({f.dir.file("config.db"), [](std::function<void()>) {}, {}});
  REQUIRE(thief->open());
  std::optional<http::Response> a, b;
  f.begin("PUT", "/routes/2", kRoute, a);
  f.begin("DELETE", "/routes/1", "", b);
  f.loop.run_until([&] { return a && b; });
  CHECK(a->status == 503);
  CHECK(b->status == 503);
  CHECK(f.admin("GET", "/routes/1").status == 200);
  CHECK(f.admin("GET", "/routes/2").status == 404);
  CHECK(f.configuration->image().size() == 1);
}

TEST_CASE("a whole document replaces everything in one revision, or nothing", "[admin][api]") {
  ApiFixture f;
  f.admin("PUT", "/routes/1", kRoute);
  f.admin("PUT", "/routes/2", kRoute);
  const std::string document =
      R"({"routes":[{"id":"2","uri":"/hello","upstream":{"type":"roundrobin","nodes":{"127.0.0.1:1980":1}}},)"
      R"({"id":"3","uri":"/c","plugins":{}}],"services":[{"id":"5"}]})";
  const auto diff = f.admin("POST", "/configs/diff", document);
  CHECK(diff.body ==
        R"({"added":["/apisix/routes/3","/apisix/services/5"],"removed":["/apisix/routes/1"],"changed":[]})"
        "\n");
  CHECK(f.call("PUT", "/apisix/admin/configs", document, {{"X-API-KEY", "the-key"}, {"If-Match", "\"1\""}}).status ==
        409);
  const int before = f.sink.batches;
  const auto put = f.call("PUT", "/apisix/admin/configs", document, {{"X-API-KEY", "the-key"}, {"If-Match", "\"2\""}});
  CHECK(put.status == 200);
  CHECK(header(put, "X-Sluice-Revision") == "3");
  CHECK(f.sink.batches == before + 1);
  CHECK(f.admin("GET", "/routes/1").status == 404);
  CHECK(f.admin("GET", "/routes/3").status == 200);
  CHECK(f.admin("POST", "/configs/diff", document).body == "{\"added\":[],\"removed\":[],\"changed\":[]}\n");
  const auto bad =
      f.admin("PUT", "/configs",
              R"({"routes":[{"id":"9","uri":"/","plugins":{}},{"id":"10","uri":"/","plugins":{"key-auht":{}}}]})");
  CHECK(bad.status == 400);
  CHECK(bad.body.find("unknown plugin [key-auht]") != std::string::npos);
  CHECK(f.sink.batches == before + 1);
  CHECK(f.admin("GET", "/routes/9").status == 404);
  CHECK(f.admin("GET", "/configs").status == 404);
}

TEST_CASE("one broken entry in the store takes nothing else away", "[admin][api][store]") {
  ApiFixture f;
  f.admin("PUT", "/routes/1", kRoute);
  f.admin("PUT", "/upstreams/1", kUpstream);
  f.store->close();
  {
    auto db = sqlite::Database::open(f.dir.file("config.db"));
    REQUIRE(db);
    REQUIRE(db->exec("UPDATE objects SET value='{\"uri\":' WHERE key='routes/1'"));
    REQUIRE(db->exec("INSERT INTO objects VALUES('no/such/kind/of/key','{}',1,1,0)"));
  }
  f.reopen();
  // It goes to the workers as it is, so that they keep the version that they have.
  const auto everything = f.configuration->everything();
  REQUIRE(everything.size() == 2);
  CHECK(conf::join_key(everything[1].kind, everything[1].id) == "routes/1");
  CHECK(everything[1].json == "{\"uri\":");
  CHECK(f.admin("GET", "/upstreams/1").status == 200);
  CHECK(f.admin("GET", "/routes/1").status == 404);
  CHECK(f.admin("PUT", "/routes/1", kRoute).status == 201);  // and can be written again
  CHECK(f.admin("PUT", "/routes/1", kRoute).status == 200);
}

TEST_CASE("what expired while nobody was there can be written again", "[admin][api][store]") {
  ApiFixture f;
  f.admin("PUT", "/routes/1?ttl=1", kRoute);
  f.now_ms += 2000;
  f.reopen();
  CHECK(f.admin("GET", "/routes/1").status == 404);
  CHECK(f.admin("PUT", "/routes/1", kRoute).status == 201);
}
