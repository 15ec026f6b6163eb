#include "plugins/workflow/workflow.hpp"

#include <catch2/catch.hpp>

#include "plugins/sdk/chain.hpp"
#include "plugins/sdk/registry.hpp"
#include "test/support/limit_kit.hpp"

using namespace sluice;
using plugins::workflow::Workflow;
using test::Kit;
using test::Limited;

namespace {
using Flow = Limited<Workflow>;
test::Asking to(std::string target) {
  test::Asking asking;
  asking.target = std::move(target);
  return asking;
}
}  // namespace

TEST_CASE("workflow takes the first rule that holds", "[plugins][workflow]") {
  Flow t;
  const auto plugin = t.make(R"({"rules":[{"case":[["uri","==","/a"]],"actions":[["return",{"code":403}],["return",{"code":401}]]},
      {"case":[["uri","~~","^/[ab]"]],"actions":[["return",{"code":409}]]}]})");
  const auto a = t.ask(plugin, to("/a"));
  CHECK(a.status == 403);
  CHECK(a.body == "{\"error_msg\":\"rejected by workflow\"}\n");
  CHECK(t.ask(plugin, to("/b")).status == 409);
  CHECK(t.ask(plugin, to("/c")).passed());
}

TEST_CASE("workflow limits, each rule with counters of its own", "[plugins][workflow]") {
  Flow t;
  const auto plugin = t.make(R"({"rules":[
      {"case":[["uri","==","/a"]],"actions":[["limit-count",{"count":1,"time_window":60,"rejected_code":429}]]},
      {"actions":[["limit-count",{"count":2,"time_window":60,"rejected_code":430}]]}]})");
  CHECK(t.statuses(plugin, 2, to("/a")) == "0 429");
  CHECK(t.statuses(plugin, 1, to("/b")) == "0");
  CHECK(t.statuses(plugin, 2, to("/c")) == "0 430");
  CHECK(t.ask(plugin, to("/c")).field("X-RateLimit-Limit") == "2");
}

TEST_CASE("workflow gives back what its limiter held", "[plugins][workflow]") {
  Flow t;
  const auto plugin = t.make(
      R"({"rules":[{"actions":[["limit-conn",{"conn":1,"burst":0,"default_conn_delay":0.1,"key":"remote_addr"}]]}]})");
  Kit first("/a"), second("/a"), third("/a");
  for (Kit* kit : {&first, &second, &third}) {
    t.stamp(*kit);
    kit->from("10.0.0.1");
  }
  CHECK(first.access(plugin).kind == sdk::Verdict::Kind::proceed);
  CHECK(second.access(plugin).status == 503);
  second.log(plugin);
  first.log(plugin);
  CHECK(third.access(plugin).kind == sdk::Verdict::Kind::proceed);
}

TEST_CASE("workflow keeps the plugin of its action from running again", "[plugins][workflow]") {
  Flow t;
  const auto compiled = [&](const char* name, const char* json) {
    auto conf = parse_json(json);
    auto made = sdk::compile_plugin_conf(sdk::EnabledPlugins{}, name, *conf, t.host, "/apisix/routes/1");
    REQUIRE(made.has_value());
    return *made;
  };
  const sdk::OwnedChain chain(
      {compiled("workflow", R"({"rules":[{"case":[["uri","==","/a"]],"actions":[["limit-count",{"count":5,"time_window":60}]]}]})"),
       compiled("limit-count", R"({"count":1,"time_window":60,"rejected_code":429})")});
  const auto run = [&](const char* target) {
    Kit kit(target);
    t.stamp(kit);
    for (const sdk::Step& step : chain.view().access)
      if (const auto verdict = sdk::run_step(step, kit.ctx); verdict.ends_request()) return int(verdict.status);
    return 0;
  };
  CHECK(run("/a") == 0);
  CHECK(run("/a") == 0);   // of the workflow's five
  CHECK(run("/b") == 0);   // the first of limit-count's own
  CHECK(run("/b") == 429);
  CHECK(run("/a") == 0);
}
