#include "plugins/fault-injection/fault_injection.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::fault_injection::FaultInjection;
using sdk::Verdict;
using test::Kit;
using namespace std::chrono_literals;

namespace {
Verdict run(const char* conf, Kit& kit) {
  auto plugin = test::configured<FaultInjection>(conf);
  REQUIRE(plugin.has_value());
  return kit.rewrite(*plugin);
}
}  // namespace

TEST_CASE("fault-injection aborts", "[plugins][fault-injection]") {
  Kit kit("/hello?count=2");
  kit.from("10.0.0.1");
  const Verdict v = run(
      R"({"abort":{"http_status":403,"body":"no $remote_addr $arg_count","headers":{"h2":2,"h3":"$uri"},"percentage":100}})",
      kit);
  CHECK(v.kind == Verdict::Kind::reply);
  CHECK(v.status == 403);
  CHECK(kit.reply() == "no 10.0.0.1 2");
  CHECK(kit.ctx.response_headers.get("h2").has_value());

  Kit bare;
  CHECK(run(R"({"abort":{"http_status":200}})", bare).status == 200);
  CHECK(bare.reply() == "(none)");
}

TEST_CASE("fault-injection delays, and answers after the delay", "[plugins][fault-injection]") {
  Kit kit;
  const Verdict v = run(R"({"delay":{"duration":0.5}})", kit);
  CHECK(v.kind == Verdict::Kind::pause);
  CHECK(v.delay == 500ms);
  CHECK_FALSE(v.ends_request());

  Kit both;
  const Verdict held = run(R"({"delay":{"duration":0.5},"abort":{"http_status":500,"body":"x"}})", both);
  CHECK(held.kind == Verdict::Kind::pause);
  CHECK(held.ends_request());
  CHECK(held.status == 500);
  CHECK(both.reply() == "x");

  Kit none;
  CHECK(run(R"({"delay":{"duration":0}})", none).kind == Verdict::Kind::proceed);
}

TEST_CASE("fault-injection hits a share", "[plugins][fault-injection]") {
  const auto hits = [](const char* conf) {
    auto plugin = test::configured<FaultInjection>(conf);
    REQUIRE(plugin.has_value());
    int n = 0;
    for (int i = 0; i < 2000; ++i) {
      Kit kit;
      n += kit.rewrite(*plugin).status == 500 ? 1 : 0;
    }
    return n;
  };
  CHECK(hits(R"({"abort":{"http_status":500,"percentage":0}})") == 0);
  CHECK(hits(R"({"abort":{"http_status":500,"percentage":100}})") == 2000);
  const int some = hits(R"({"abort":{"http_status":500,"percentage":30}})");
  CHECK(some > 600 - 150);
  CHECK(some < 600 + 150);  // more than seven standard deviations
}

TEST_CASE("fault-injection takes alternatives of conditions", "[plugins][fault-injection]") {
  const char* conf =
      R"({"abort":{"http_status":500,"vars":[[["arg_a","==","1"],["arg_b","==","2"]],[["arg_c","==","3"]]]}})";
  const auto status = [&](const char* target) {
    Kit kit(target);
    return run(conf, kit).status;
  };
  CHECK(status("/?a=1") == 0);
  CHECK(status("/?a=1&b=2") == 500);
  CHECK(status("/?c=3") == 500);
  CHECK(status("/") == 0);
  Kit young("/hello?name=jack&age=17"), adult("/hello?name=jack&age=18");
  const char* negated =
      R"({"abort":{"http_status":403,"vars":[["!AND",["arg_name","==","jack"],["arg_age","!","<",18]]]}})";
  CHECK(run(negated, young).status == 403);
  CHECK(run(negated, adult).status == 0);
}
