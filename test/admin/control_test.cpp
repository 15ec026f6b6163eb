// The control API and the status listener.
#include <catch2/catch.hpp>

#include "admin/control/control.hpp"
#include "admin/control/status.hpp"
#include "shm/catalog.hpp"
#include "test/admin/support.hpp"

using namespace sluice;
using namespace sluice::admin;

namespace {

struct Fixture {
  Fixture()
      : control({image, enabled, "/apisix", [this]() -> Result<void> {
                   ++reloads;
                   return {};
                 }}) {}

  void put(const std::string& key, const std::string& json) {
    auto o = std::make_shared<Object>();
    o->key = key;
    o->plain = JsonBox(*parse_json(json));
    o->created = 3;
    o->modified = 4;
    image.load(std::move(o));
  }
  http::Response call(const std::string& method, const std::string& path, const std::string& accept = {}) {
    auto request = std::make_shared<http::Request>();
    request->method = method;
    request->target = request->path = path;
    if (!accept.empty()) request->headers = {{"Accept", accept}};
    http::Response out;
    control.handle(request, [&](http::Response r) { out = std::move(r); });
    return out;
  }
  std::string error(const std::string& path, unsigned status) {
    const http::Response r = call("GET", path);
    CHECK(r.status == status);
    const auto body = parse_json(r.body);
    return body && find(*body, "error_msg") != nullptr ? std::string(text_of(*find(*body, "error_msg"))) : r.body;
  }

  Image image;
  sdk::EnabledPlugins enabled;
  int reloads = 0;
  Control control;
};

}  // namespace

TEST_CASE("objects as held in memory", "[admin][control]") {
  Fixture f;
  f.put("upstreams/1", R"({"id":"1","nodes":{"127.0.0.1:80":1,"example.com":2}})");
  const auto r = f.call("GET", "/v1/upstream/1");
  CHECK(r.status == 200);
  CHECK(r.content_type == "application/json");
  auto doc = parse_json(r.body);
  REQUIRE(doc);
  CHECK(to_json(*find(*doc, "key")) == "\"/apisix/upstreams/1\"");
  CHECK(to_json(*find(*doc, "createdIndex")) == "3");
  CHECK(to_json(*find(*doc, "has_domain")) == "true");
  const Json& value = *find(*doc, "value");
  CHECK(to_json(*find(value, "type")) == "\"roundrobin\"");
  REQUIRE(find(value, "nodes")->IsArray());
  CHECK(to_json((*find(value, "nodes"))[1]) == R"({"host":"example.com","port":80,"weight":2})");
  CHECK(f.error("/v1/upstream/2", 404) == "upstream[2] not found");
  CHECK(f.error("/v1/route/2", 404) == "route[2] not found");
  CHECK(f.call("GET", "/v1/routes").body == "[]\n");
  f.put("services/1", "{}");
  f.put("services/1/graphql_cost_decorations/d", R"({"field_path":"a"})");
  CHECK(parse_json(f.call("GET", "/v1/services").body)->Size() == 1);
}

TEST_CASE("plugin metadata", "[admin][control]") {
  Fixture f;
  f.put("plugin_metadata/example-plugin", R"({"id":"example-plugin"})");
  f.put("plugin_metadata/file-logger", R"({"id":"file-logger"})");
  CHECK(f.call("GET", "/v1/plugin_metadatas").body == "[{\"id\":\"file-logger\"},{\"id\":\"example-plugin\"}]\n");
  CHECK(f.call("GET", "/v1/plugin_metadata/file-logger").body == "{\"id\":\"file-logger\"}\n");
  CHECK(f.error("/v1/plugin_metadata/batch-requests", 404) == "plugin metadata[batch-requests] not found");
}

TEST_CASE("schemas, reload, collection", "[admin][control]") {
  Fixture f;
  const auto doc = parse_json(f.call("GET", "/v1/schema").body);
  REQUIRE(doc);
  for (const char* name : {"route", "upstream", "plugins", "upstream_hash_vars_schema", "graphql_cost_decoration"})
    CHECK(find(*find(*doc, "main"), name) != nullptr);
  CHECK(find(*find(*doc, "plugins"), "echo") != nullptr);
  const auto done = f.call("PUT", "/v1/plugins/reload");
  CHECK(done.body == "done");
  CHECK(done.content_type == "text/plain");
  CHECK(f.reloads == 1);
  CHECK(f.call("GET", "/v1/plugins/reload").status == 404);
  CHECK(f.call("POST", "/v1/gc").status == 200);
  CHECK(f.call("GET", "/v1/nope").content_type == "text/html");
}

TEST_CASE("health without a prober", "[admin][control]") {
  Fixture f;
  CHECK(f.call("GET", "/v1/healthcheck").body == "{}\n");
  f.put("upstreams/1", R"({"nodes":{},"checks":{"active":{"type":"tcp"}}})");
  f.put("routes/2", R"({"uri":"/"})");
  CHECK(f.call("GET", "/v1/healthcheck").body ==
        "[{\"name\":\"/apisix/upstreams/1\",\"type\":\"tcp\",\"nodes\":[]}]\n");
  CHECK(f.call("GET", "/v1/healthcheck/upstreams/1").status == 200);
  CHECK(f.call("GET", "/v1/healthcheck", "text/html").body.find("<th>Index</th>") != std::string::npos);
  CHECK(f.error("/v1/healthcheck/routes/1", 404) == "routes[1] not found");
  CHECK(f.error("/v1/healthcheck/routes/2", 404) == "no checker for routes[2]");
  CHECK(f.error("/v1/healthcheck/route/1", 400) == "invalid src type route");
  CHECK(f.error("/v1/healthcheck/routes", 404) == "missing src id for src type routes");
}

TEST_CASE("ready is when every worker has its configuration", "[admin][status]") {
  auto catalog = shm::Catalog::create_for_test();
  Status status(catalog->workers(), 7, 2);
  const auto ask = [&](const char* path) {
    auto request = std::make_shared<http::Request>();
    request->method = "GET";
    request->path = path;
    http::Response out;
    status.handle(request, [&](http::Response r) { out = std::move(r); });
    return std::to_string(out.status) + " " + out.body;
  };
  CHECK(ask("/status") == "200 {\"status\":\"ok\"}\n");
  CHECK(ask("/status/ready") ==
        "503 {\"status\":\"error\",\"error\":\"worker count: 2 but status report count: 0\"}\n");
  const auto a = catalog->claim_worker(shm::WorkerRole::worker, 7, 0);
  const auto b = catalog->claim_worker(shm::WorkerRole::worker, 7, 1);
  REQUIRE((a && b));
  catalog->workers().status(*a).ready = 1;
  CHECK(ask("/status/ready") ==
        "503 {\"status\":\"error\",\"error\":\"worker id: 1 has not received configuration\"}\n");
  catalog->workers().status(*b).ready = 1;
  CHECK(ask("/status/ready") == "200 {\"status\":\"ok\"}\n");
  CHECK(ask("/other").starts_with("404"));
}
