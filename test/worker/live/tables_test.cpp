#include <catch2/catch.hpp>

#include "test/worker/live/support.hpp"

using namespace sluice;
using namespace sluice::live;
using namespace sluice::live::test;

TEST_CASE("a route comes, changes and goes", "[live]") {
  Bench b;
  CHECK(b.get("/a").id == "none");
  CHECK(b.put(Kind::route, "1", R"({"uri":"/a","name":"first","upstream":)" + kNode1 + "}") == "");
  CHECK(b.get("/a").id == "1");
  CHECK(b.get("/a").node == "127.0.0.1:1981");
  CHECK(b.get("/a").route->name == "first");
  CHECK(b.put(Kind::route, "1", R"({"uri":"/b/*","upstream":)" + kNode2 + "}") == "");
  CHECK(b.get("/a").id == "none");
  CHECK(b.get("/b/c").node == "127.0.0.1:1982");
  CHECK(b.get("/b/c").params == ":ext=c ");
  CHECK(b.remove(Kind::route, "1") == "");
  CHECK(b.get("/b/c").id == "none");
  CHECK(b.tables.count(Kind::route) == 0);
}

TEST_CASE("a route with status 0 never matches", "[live]") {
  Bench b;
  b.put(Kind::route, "1", R"({"uri":"/a","status":0,"upstream":)" + kNode1 + "}");
  CHECK(b.get("/a").id == "none");
  b.put(Kind::route, "1", R"({"uri":"/a","status":1,"upstream":)" + kNode1 + "}");
  CHECK(b.get("/a").id == "1");
}

TEST_CASE("a compiled route lives as long as somebody holds it", "[live]") {
  Bench b;
  b.put(Kind::route, "1", R"({"uri":"/a","hosts":["H.test"],"plugins":{"echo":{"body":"x"}},"upstream":)" + kNode1 + "}");
  sdk::RequestContext ctx;
  ctx.method = "GET";
  ctx.path = "/a";
  ctx.host = "h.test";
  const auto route = b.tables.match(ctx).route;
  b.remove(Kind::route, "1");
  REQUIRE(route);
  CHECK(ctx.matched_uri == "/a");
  CHECK(ctx.matched_host == "h.test");
  CHECK(ctx.route_id == "1");
  CHECK(route->chain().members.size() == 1);
  CHECK(route->upstream()->node_list().size() == 1);
}

TEST_CASE("plugins: route over plugin config over service, each whole", "[live][merge]") {
  Bench b;
  b.put(Kind::service, "s", R"({"plugins":{"echo":{"body":"s"},"mocking":{"response_example":"s"},"request-id":{}}})");
  b.put(Kind::plugin_config, "p", R"({"plugins":{"echo":{"body":"p"},"request-id":{"algorithm":"uuid"}}})");
  b.put(Kind::route, "1", R"({"uri":"/a","service_id":"s","plugin_config_id":"p","plugins":{"echo":{"body":"r"}}})");
  const auto key = [&](std::string_view plugin) {
    const auto a = b.get("/a");
    const auto* instance = a.route->chain().find(plugin);
    return instance ? instance->resource_key : "none";
  };
  CHECK(key("echo") == "/apisix/routes/1");
  CHECK(key("request-id") == "/apisix/plugin_configs/p");
  CHECK(key("mocking") == "/apisix/services/s");

  b.put(Kind::route, "1", R"({"uri":"/a","service_id":"s","plugin_config_id":"p","plugins":{"echo":{"body":"r","_meta":{"disable":true}}}})");
  CHECK(key("echo") == "none");
  b.put(Kind::plugin_config, "p", R"({"plugins":{"echo":{"body":"p"}}})");
  CHECK(key("request-id") == "/apisix/services/s");
  b.put(Kind::service, "s", R"({"plugins":{}})");
  CHECK(key("request-id") == "none");
}

TEST_CASE("missing objects: service 404, plugin config 503, upstream 502, none 503", "[live]") {
  Bench b;
  b.put(Kind::route, "1", R"({"uri":"/s","service_id":"s"})");
  b.put(Kind::route, "2", R"({"uri":"/p","plugin_config_id":"p","upstream":)" + kNode1 + "}");
  b.put(Kind::route, "3", R"({"uri":"/u","upstream_id":"u"})");
  b.put(Kind::route, "4", R"({"uri":"/n","plugins":{}})");
  CHECK(b.get("/s").refused == 404);
  CHECK(b.get("/p").refused == 503);
  CHECK(b.get("/u").upstream_status == 502);
  CHECK(b.get("/n").upstream_status == 503);
  b.put(Kind::service, "s", R"({"upstream_id":"u"})");
  b.put(Kind::plugin_config, "p", R"({"plugins":{}})");
  CHECK(b.get("/s").refused == 0);
  CHECK(b.get("/s").upstream_status == 502);
  CHECK(b.get("/p").node == "127.0.0.1:1981");
  b.put(Kind::upstream, "u", kNode2);
  CHECK(b.get("/s").node == "127.0.0.1:1982");
  CHECK(b.get("/u").node == "127.0.0.1:1982");
  b.remove(Kind::upstream, "u");
  CHECK(b.get("/u").upstream_status == 502);
  b.remove(Kind::service, "s");
  CHECK(b.get("/s").refused == 404);
}

TEST_CASE("upstream, timeout, websocket, labels and name: route over service", "[live][merge]") {
  Bench b;
  b.put(Kind::upstream, "1", R"({"nodes":{"127.0.0.1:1981":1},"timeout":{"connect":1,"send":2,"read":0.5}})");
  b.put(Kind::service, "s", R"({"name":"svc","labels":{"a":"s"},"enable_websocket":true,"upstream_id":"1"})");
  b.put(Kind::route, "1", R"({"uri":"/a","service_id":"s"})");
  b.put(Kind::route, "2", R"({"uri":"/b","service_id":"s","enable_websocket":false,"labels":{"a":"r"},"timeout":{"connect":7,"send":7,"read":7},"upstream":)" + kNode2 + "}");
  auto a = b.get("/a").route;
  CHECK(b.get("/a").node == "127.0.0.1:1981");
  CHECK(a->enable_websocket);
  CHECK(a->labels.at(0).second == "s");
  CHECK(a->name.empty());
  CHECK(a->service_name == "svc");
  CHECK(a->timeouts().read == milliseconds(500));
  a = b.get("/b").route;
  CHECK(b.get("/b").node == "127.0.0.1:1982");
  CHECK_FALSE(a->enable_websocket);
  CHECK(a->labels.at(0).second == "r");
  CHECK(a->timeouts().connect == seconds(7));
  b.put(Kind::route, "3", R"({"uri":"/c","upstream_id":"1","upstream":)" + kNode2 + "}");
  CHECK(b.get("/c").node == "127.0.0.1:1981");
}

TEST_CASE("hosts of the service hold for routes without hosts", "[live]") {
  Bench b;
  b.put(Kind::route, "1", R"({"uri":"/a","service_id":"s","upstream":)" + kNode1 + "}");
  CHECK(b.get("/a", "any.test").refused == 404);
  b.put(Kind::service, "s", R"({"hosts":["API.test","*.b.test"]})");
  CHECK(b.get("/a", "any.test").id == "none");
  CHECK(b.get("/a", "api.test").id == "1");
  CHECK(b.get("/a", "x.b.test").id == "1");
  b.put(Kind::service, "s", R"({"hosts":["c.test"]})");
  CHECK(b.get("/a", "api.test").id == "none");
  CHECK(b.get("/a", "c.test").id == "1");
  b.put(Kind::route, "1", R"({"uri":"/a","host":"own.test","service_id":"s","upstream":)" + kNode1 + "}");
  CHECK(b.get("/a", "c.test").id == "none");
  CHECK(b.get("/a", "own.test").id == "1");
  b.put(Kind::route, "1", R"({"uri":"/a","service_id":"s","upstream":)" + kNode1 + "}");
  b.remove(Kind::service, "s");
  CHECK(b.get("/a", "any.test").refused == 404);
}

TEST_CASE("what does not compile keeps its old version, or refuses", "[live]") {
  Bench b;
  CHECK(b.put(Kind::route, "1", R"({"uri":"/a","plugins":{"key-auht":{}},"upstream":)" + kNode1 + "}") ==
        "routes/1: unknown plugin [key-auht]\n");
  CHECK(b.get("/a").refused == 503);
  CHECK(b.get("/a").route->refuse_reason.find("key-auht") != std::string::npos);
  b.put(Kind::route, "1", R"({"uri":"/a","upstream":)" + kNode1 + "}");
  CHECK(b.get("/a").refused == 0);
  CHECK(b.put(Kind::route, "1", R"({"uri":"/a","plugins":{"mocking":{"response_status":"x"}},"upstream":)" + kNode1 + "}") != "");
  CHECK(b.get("/a").refused == 0);
  CHECK(b.put(Kind::route, "1", R"({"uri":5})") != "");
  CHECK(b.put(Kind::route, "1", "garbage") != "");
  CHECK(b.get("/a").refused == 0);
  CHECK(b.put(Kind::route, "2", R"({"uri":5})") != "");
  CHECK(b.tables.count(Kind::route) == 1);

  b.put(Kind::route, "3", R"({"uri":"/s","service_id":"s","upstream":)" + kNode1 + "}");
  CHECK(b.put(Kind::service, "s", R"({"plugins":{"nope":{}}})") != "");
  CHECK(b.get("/s").refused == 503);
  CHECK(b.put(Kind::service, "s", R"({"plugins":{}})") == "");
  CHECK(b.get("/s").refused == 0);
}

TEST_CASE("a plugin that is not enabled: left out from a store, refused from a file", "[live]") {
  const std::string route = R"({"uri":"/a","plugins":{"echo":{"body":"x"},"request-id":{}},"upstream":)" + kNode1 + "}";
  Bench store({}, sdk::EnabledPlugins({"request-id"}));
  CHECK(store.put(Kind::route, "1", route) == "");
  CHECK(store.get("/a").plugins == "request-id ");
  Bench file({.refuse_disabled_plugins = true}, sdk::EnabledPlugins({"request-id"}));
  CHECK(file.put(Kind::route, "1", route) != "");
  CHECK(file.get("/a").refused == 503);
  CHECK(file.put(Kind::plugins, "plugins", R"([{"name":"request-id"},{"name":"echo"}])") == "");
  CHECK(file.get("/a").plugins == "request-id echo ");
  CHECK(file.remove(Kind::plugins, "plugins") != "");
  CHECK(file.get("/a").refused == 503);
}

TEST_CASE("a batch is visible whole, whatever the order inside", "[live]") {
  Bench b;
  CHECK(b.apply({b.change(Kind::route, "1", R"({"uri":"/a","service_id":"s"})"),
                 b.change(Kind::service, "s", R"({"upstream_id":"u"})"), b.change(Kind::upstream, "u", kNode1),
                 b.change(Kind::route, "2", R"({"uri":"/x","service_id":"s"})"),
                 Change{Kind::route, "2", true, {}, 0, 0}}) == "");
  CHECK(b.get("/a").node == "127.0.0.1:1981");
  CHECK(b.get("/x").id == "none");

  Stager stager(b.tables, {b.change(Kind::route, "3", R"({"uri":"/late","service_id":"s"})"),
                           Change{Kind::route, "1", true, {}, 0, 0}});
  int steps = 1;
  while (!stager.step(TimePoint::min())) ++steps;
  CHECK(steps == 2);
  CHECK(b.get("/a").id == "1");
  CHECK(b.get("/late").id == "none");
  CHECK(stager.publish().empty());
  CHECK(b.get("/a").id == "none");
  CHECK(b.get("/late").id == "3");
}

TEST_CASE("a snapshot is a difference: what it does not name goes", "[live]") {
  Bench b;
  const auto one = b.change(Kind::route, "1", R"({"uri":"/a","upstream":)" + kNode1 + "}");
  const auto two = b.change(Kind::route, "2", R"({"uri":"/b","upstream_id":"u"})");
  const auto up = b.change(Kind::upstream, "u", kNode1);
  b.apply({one, two, up});
  const auto held = b.get("/a").route;
  b.tables.begin_snapshot();
  b.apply({one});
  CHECK(b.get("/b").id == "2");
  b.apply({b.change(Kind::route, "3", R"({"uri":"/c","upstream":)" + kNode1 + "}")});
  CHECK(b.tables.end_snapshot().empty());
  CHECK(b.get("/a").route == held);   // not compiled again
  CHECK(b.get("/b").id == "none");
  CHECK(b.get("/c").id == "3");
  CHECK(b.tables.count(Kind::upstream) == 0);
  b.tables.begin_snapshot();
  b.tables.drop_snapshot();
  CHECK(b.get("/a").id == "1");
  b.tables.begin_snapshot();
  CHECK(b.tables.end_snapshot().empty());
  CHECK(b.get("/a").id == "none");
}

TEST_CASE("a broken entry of a snapshot keeps the version in force", "[live]") {
  Bench b;
  b.put(Kind::route, "1", R"({"uri":"/a","upstream":)" + kNode1 + "}");
  b.put(Kind::upstream, "u", kNode1);
  b.tables.begin_snapshot();
  b.apply({b.change(Kind::route, "1", R"({"uri":5})"), b.change(Kind::upstream, "u", "\x01\x02"),
           b.change(Kind::route, "2", R"({"uri":"/b","upstream_id":"u"})")});
  CHECK(b.tables.end_snapshot().size() == 2);
  CHECK(b.get("/a").id == "1");
  CHECK(b.get("/b").node == "127.0.0.1:1981");
}

TEST_CASE("global rules: each plugin once, from the lowest id", "[live][global]") {
  Bench b;
  const auto first = b.tables.global_rules();
  b.put(Kind::global_rule, "10", R"({"plugins":{"echo":{"body":"ten"},"request-id":{}}})");
  b.put(Kind::global_rule, "9", R"({"plugins":{"echo":{"body":"nine"}}})");
  CHECK(first->chain.view().members.empty());
  REQUIRE(b.tables.global_chain().members.size() == 2);
  CHECK(b.tables.global_chain().find("echo")->resource_key == "/apisix/global_rules/9");
  b.remove(Kind::global_rule, "9");
  CHECK(b.tables.global_chain().find("echo")->resource_key == "/apisix/global_rules/10");
  b.remove(Kind::global_rule, "10");
  CHECK(b.tables.global_chain().members.empty());
}

TEST_CASE("conditions that read the body are known before a request comes", "[live]") {
  Bench b;
  const std::string route = R"({"uri":"/a","vars":[["post_arg_x","==","1"]],"upstream":)" + kNode1 + "}";
  b.put(Kind::route, "1", route);
  CHECK(b.tables.routing_needs_body());
  b.put(Kind::route, "1", R"({"uri":"/a","upstream":)" + kNode1 + "}");
  CHECK_FALSE(b.tables.routing_needs_body());
  CHECK(b.put(Kind::route, "2", R"({"uri":"/a","vars":[["a","nope","1"]],"upstream":)" + kNode1 + "}") != "");
}

TEST_CASE("inspection shows what is stored", "[live]") {
  Bench b;
  b.put(Kind::ssl, "x", R"({"sni":"a"})");
  b.put(Kind::route, "1", R"({"uri":"/a","upstream":)" + kNode1 + "}");
  b.put(Kind::upstream, "u", kNode2);
  int seen = 0;
  b.tables.for_each(Kind::route, [&](const ObjectView& o) {
    ++seen;
    CHECK(o.id == "1");
    CHECK(o.created == 2);
  });
  CHECK(seen == 1);
  std::string keys;
  b.tables.for_each_upstream([&](const Upstream& u) { keys += u.resource_key() + " "; });
  CHECK(keys == "/apisix/upstreams/u /apisix/routes/1 ");
  CHECK(b.tables.upstream("u"));
  CHECK_FALSE(b.tables.upstream("v"));
}

TEST_CASE("metadata: the plugins that depend on it are compiled anew", "[live][metadata]") {
  Bench b;
  const std::string route = R"({"plugins":{"cors":{"allow_origins_by_metadata":["k"]}},"upstream":)" + kNode1;
  b.put(Kind::route, "1", R"({"uri":"/a",)" + route.substr(1) + "}");
  b.put(Kind::route, "2", R"({"uri":"/b","plugins":{"echo":{"body":"x"}},"upstream":)" + kNode1 + "}");
  const auto instance = [&](std::string_view path, std::string_view plugin) { return b.get(path).route->chain().find(plugin)->self; };
  const auto before = instance("/a", "cors"), other = instance("/b", "echo");
  CHECK(b.tables.metadata("cors") == nullptr);
  CHECK(b.put(Kind::plugin_metadata, "cors", R"({"allow_origins":{"k":"https://x.test"}})") == "");
  REQUIRE(b.tables.metadata("cors") != nullptr);
  CHECK(instance("/a", "cors") != before);
  CHECK(instance("/b", "echo") == other);
  const auto with = instance("/a", "cors");
  b.remove(Kind::plugin_metadata, "cors");
  CHECK(b.tables.metadata("cors") == nullptr);
  CHECK(instance("/a", "cors") != with);
}
