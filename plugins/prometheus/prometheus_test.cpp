#include "plugins/prometheus/prometheus.hpp"

#include <catch2/catch.hpp>

#include "conf/schema/schema.hpp"
#include "plugins/prometheus/endpoint.hpp"
#include "plugins/sdk/exposition.hpp"
#include "shm/catalog.hpp"
#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::prometheus::Prometheus;
using test::Kit;

namespace {

// A worker of its own with a node file's attributes and the plugin's metadata.
struct Node {
  explicit Node(std::string_view attributes = "{}", std::string_view metadata = "") {
    host.catalog = catalog.get();
    host.worker_slot = static_cast<int>(*catalog->claim_worker(shm::WorkerRole::worker, 1, 0));
    attr = std::move(*parse_json("{\"prometheus\":" + std::string(attributes) + "}"));
    host.plugin_attr = &attr;
    if (!metadata.empty()) {
      meta = std::move(*parse_json(metadata));
      host.metadata = [this](std::string_view) -> const Json* { return &meta; };
    }
  }
  sdk::PluginInstance plugin(std::string_view conf = "{}") {
    auto made = test::configured<Prometheus>(conf, host);
    REQUIRE(made.has_value());
    return std::move(*made);
  }
  static void log(const sdk::PluginInstance& p, Kit& kit) { p.log(p.self.get(), kit.ctx); }
  std::string text(TimePoint now = TimePoint(std::chrono::seconds(1))) {
    if (!exposition) exposition = std::make_unique<sdk::Exposition>(*catalog, find(attr, "prometheus"));
    return exposition->render(now);
  }
  // The value behind a series, or "(none)".
  std::string value(const std::string& series, TimePoint now = TimePoint(std::chrono::seconds(1))) {
    const std::string all = text(now);
    const auto at = all.find("\n" + series + " ");
    if (at == std::string::npos) return "(none)";
    const auto from = at + series.size() + 2;
    return all.substr(from, all.find('\n', from) - from);
  }

  std::unique_ptr<shm::Catalog> catalog = shm::Catalog::create_for_test();
  JsonDoc attr, meta;
  sdk::PluginHost host;
  std::unique_ptr<sdk::Exposition> exposition;
};

constexpr std::string_view kRest = "request_type=\"traditional_http\",request_llm_model=\"\",llm_model=\"\"";

// GET /hello on route 1, answered 200 by 127.0.0.1:1980: 5 ms in all, 3 of them upstream.
void proxied(Kit& kit) {
  kit.ctx.route_matched = true;
  kit.ctx.route_id = "1";
  kit.ctx.matched_uri = "/hello";
  kit.ctx.started = TimePoint(std::chrono::milliseconds(100));
  kit.ctx.now = TimePoint(std::chrono::milliseconds(105));
  kit.ctx.attempt_count = 1;
  kit.ctx.attempts[0] = {};
  kit.ctx.attempts[0].ip = "127.0.0.1";
  kit.ctx.attempts[0].response_ns = 3'000'000;
  kit.ctx.source = sdk::ResponseSource::upstream;
  kit.ctx.request_bytes = 80;
  kit.ctx.bytes_sent = 200;
  kit.answer(200);
}

std::string labels(std::string_view type, std::string_view node = "127.0.0.1", std::string_view route = "1") {
  return "{type=\"" + std::string(type) + "\",route=\"" + std::string(route) + "\",service=\"\",consumer=\"\",node=\"" +
         std::string(node) + "\"," + std::string(kRest);
}

}  // namespace

TEST_CASE("prometheus counts a proxied request by status, time and octets", "[plugins][prometheus]") {
  Node node;
  const auto plugin = node.plugin();
  Kit kit;
  proxied(kit);
  Node::log(plugin, kit);
  CHECK(node.value("apisix_http_status{code=\"200\",route=\"1\",matched_uri=\"/hello\",matched_host=\"\",service=\"\",consumer=\"\","
                   "node=\"127.0.0.1\"," + std::string(kRest) + ",response_source=\"upstream\"}") == "1");
  CHECK(node.value("apisix_bandwidth" + labels("ingress") + "}") == "80");
  CHECK(node.value("apisix_bandwidth" + labels("egress") + "}") == "200");
  const auto bucket = [&](std::string_view type, std::string_view le) {
    return node.value("apisix_http_latency_bucket" + labels(type) + ",le=\"" + std::string(le) + "\"}");
  };
  CHECK(bucket("apisix", "1") == "(none)");
  CHECK(bucket("apisix", "2") == "1");
  CHECK(bucket("request", "2") == "(none)");
  CHECK(bucket("request", "5") == "1");
  CHECK(bucket("upstream", "5") == "1");
  CHECK(bucket("upstream", "+Inf") == "1");
  CHECK(node.value("apisix_http_latency_sum" + labels("apisix") + "}") == "2");
  CHECK(node.value("apisix_http_latency_count" + labels("apisix") + "}") == "1");
  const std::string text = node.text();
  CHECK(text.find("# HELP apisix_http_status HTTP status codes per service in APISIX\n# TYPE apisix_http_status counter\n") != std::string::npos);
  CHECK(text.find("# TYPE apisix_http_latency histogram\n") != std::string::npos);
}

TEST_CASE("prometheus counts what matched no route, and what the gateway itself answered", "[plugins][prometheus]") {
  Node node;
  const auto plugin = node.plugin();
  Kit none;
  none.ctx.source = sdk::ResponseSource::apisix;
  none.answer(404);
  Node::log(plugin, none);
  CHECK(node.value("apisix_http_status{code=\"404\",route=\"\",matched_uri=\"\",matched_host=\"\",service=\"\",consumer=\"\",node=\"\"," +
                   std::string(kRest) + ",response_source=\"apisix\"}") == "1");
  CHECK(node.text().find("type=\"upstream\"") == std::string::npos);

  Kit both_refused;   // the last node that was tried
  proxied(both_refused);
  both_refused.ctx.attempt_count = 2;
  both_refused.ctx.attempts[0].response_ns = 20'000'000;
  both_refused.ctx.attempts[1] = {};
  both_refused.ctx.attempts[1].ip = "127.0.0.2";
  both_refused.ctx.attempts[1].response_ns = 30'000'000;
  both_refused.ctx.now = both_refused.ctx.started + std::chrono::milliseconds(55);
  both_refused.ctx.source = sdk::ResponseSource::proxy;
  both_refused.answer(502);
  Node::log(plugin, both_refused);
  CHECK(node.value("apisix_http_status{code=\"502\",route=\"1\",matched_uri=\"/hello\",matched_host=\"\",service=\"\",consumer=\"\","
                   "node=\"127.0.0.2\"," + std::string(kRest) + ",response_source=\"nginx\"}") == "1");
  CHECK(node.value("apisix_http_latency_sum" + labels("upstream", "127.0.0.2") + "}") == "50");
  CHECK(node.value("apisix_http_latency_sum" + labels("apisix", "127.0.0.2") + "}") == "5");
  CHECK(node.value("apisix_http_latency_sum" + labels("request", "127.0.0.2") + "}") == "55");
}

TEST_CASE("prometheus labels with names where asked and where there are any", "[plugins][prometheus]") {
  Node node;
  const auto plugin = node.plugin(R"({"prefer_name":true})");
  Kit kit;
  proxied(kit);
  kit.ctx.route_name = "r1";
  kit.ctx.service_id = "5";
  Node::log(plugin, kit);
  CHECK(node.text().find("route=\"r1\",matched_uri=\"/hello\",matched_host=\"\",service=\"5\"") != std::string::npos);
}

TEST_CASE("prometheus blanks labels and appends labels", "[plugins][prometheus]") {
  Node node(R"({"metrics":{"http_status":{"extra_labels":[{"who":"$http_x_who"},{"none":"$no_such"}]}}})",
            R"({"disabled_labels":{"http_status":["matched_uri","node"]}})");
  const auto plugin = node.plugin();
  for (const char* who : {"a\"b", "c", "c"}) {
    Kit kit;
    proxied(kit);
    kit.header("X-Who", who);
    Node::log(plugin, kit);
  }
  const std::string head = "apisix_http_status{code=\"200\",route=\"1\",matched_uri=\"\",matched_host=\"\",service=\"\",consumer=\"\",node=\"\"," +
                           std::string(kRest) + ",response_source=\"upstream\",who=\"";
  CHECK(node.value(head + "a\\\"b\",none=\"\"}") == "1");
  CHECK(node.value(head + "c\",none=\"\"}") == "2");
  CHECK(node.value("apisix_bandwidth" + labels("ingress") + "}") == "240");
}

TEST_CASE("prometheus takes buckets and the prefix from the node file", "[plugins][prometheus]") {
  Node node(R"({"metric_prefix":"x_","default_buckets":[0.5,10]})");
  const auto plugin = node.plugin();
  Kit kit;
  proxied(kit);
  Node::log(plugin, kit);
  CHECK(node.value("x_http_latency_bucket" + labels("request") + ",le=\"0.5\"}") == "(none)");
  CHECK(node.value("x_http_latency_bucket" + labels("request") + ",le=\"10\"}") == "1");
  kit.ctx.now = kit.ctx.started + std::chrono::seconds(1);   // above the last bound
  Node::log(plugin, kit);
  CHECK(node.value("x_http_latency_bucket" + labels("request") + ",le=\"10\"}") == "1");
  CHECK(node.value("x_http_latency_bucket" + labels("request") + ",le=\"+Inf\"}") == "2");
  CHECK(node.value("x_http_latency_sum" + labels("request") + "}") == "1005");
}

TEST_CASE("prometheus lets a series that rests go, and starts it from zero", "[plugins][prometheus]") {
  Node node(R"({"metrics":{"http_status":{"expire":60}}})");
  const auto plugin = node.plugin();
  const std::string series = "apisix_http_status{code=\"200\",route=\"1\",matched_uri=\"/hello\",matched_host=\"\",service=\"\",consumer=\"\","
                             "node=\"127.0.0.1\"," + std::string(kRest) + ",response_source=\"upstream\"}";
  const auto at = [](int seconds) { return TimePoint(std::chrono::seconds(1000 + seconds)); };
  const auto send = [&] {
    Kit kit;
    proxied(kit);
    Node::log(plugin, kit);
  };
  send();
  send();
  CHECK(node.value(series, at(0)) == "2");
  CHECK(node.value(series, at(60)) == "2");
  CHECK(node.value(series, at(61)) == "(none)");
  CHECK(node.value("apisix_bandwidth" + labels("ingress") + "}", at(61)) == "160");   // never expires
  send();
  CHECK(node.value(series, at(62)) == "1");
}

TEST_CASE("prometheus keeps its series through a change of the route", "[plugins][prometheus]") {
  Node node;
  for (int i = 0; i < 3; ++i) {
    const auto plugin = node.plugin();   // compiled anew
    Kit kit;
    proxied(kit);
    Node::log(plugin, kit);
  }
  CHECK(node.value("apisix_bandwidth" + labels("ingress") + "}") == "240");
}

TEST_CASE("prometheus counts nothing where no worker is", "[plugins][prometheus]") {
  auto plugin = test::configured<Prometheus>("{}");
  REQUIRE(plugin.has_value());
  Kit kit;
  proxied(kit);
  plugin->log(plugin->self.get(), kit.ctx);
  SUCCEED("no page, no crash");
}

TEST_CASE("metadata of prometheus names labels that exist and may be blanked", "[plugins][prometheus]") {
  const auto check = [](std::string_view json) {
    auto doc = parse_json(json);
    REQUIRE(doc.has_value());
    return schema::validate(Prometheus::metadata_schema(), *doc, doc->GetAllocator());
  };
  CHECK(check(R"({"disabled_labels":{"http_status":["node"],"llm_latency":["route_id"],"ai_cache_hits_total":["route"]}})").empty());
  CHECK(check(R"({"disabled_labels":{"http_status":["code"]}})").find("failed to validate item 1: matches none of the enum values") != std::string::npos);
  CHECK(check(R"({"disabled_labels":{"nothing":["node"]}})").find("additional properties forbidden, found nothing") != std::string::npos);
}
