#include "plugins/api-breaker/api_breaker.hpp"

#include <catch2/catch.hpp>

#include "test/support/limit_kit.hpp"

using namespace sluice;
using plugins::api_breaker::ApiBreaker;
using test::Kit;
using test::Limited;
using namespace std::chrono_literals;

namespace {

struct Breaker : Limited<ApiBreaker> {
  sdk::PluginInstance plugin;
  explicit Breaker(std::string_view conf) : plugin(make(conf)) {}

  // One request whose node answers `status`; what the client gets instead when the circuit is open.
  std::uint16_t request(int status, const char* route = "1") {
    Kit kit("/x");
    kit.ctx.route_id = route;
    stamp(kit);
    const sdk::Verdict v = kit.access(plugin);
    if (v.kind == sdk::Verdict::Kind::reply) {
      said = kit.reply();
      field = std::string(kit.ctx.response_headers.get("X-Broken").value_or("(none)"));
      kit.log(plugin);   // answered here: no attempt, nothing is counted
      return v.status;
    }
    kit.ctx.attempt_count = 1;
    kit.ctx.attempts[0] = {};
    kit.ctx.attempts[0].status = static_cast<std::uint16_t>(status);
    kit.log(plugin);
    return 0;
  }
  std::string said, field;
};

constexpr const char* kPlain = R"({"break_response_code":502})";

}  // namespace

TEST_CASE("api-breaker opens for a time that doubles, and closes after successes", "[plugins][api-breaker]") {
  Breaker b(kPlain);
  CHECK(b.request(500) == 0);
  CHECK(b.request(500) == 0);
  CHECK(b.request(404) == 0);   // neither
  CHECK(b.request(500) == 0);
  CHECK(b.request(200) == 502);
  CHECK(b.said == "(none)");
  b.at(1999ms);
  CHECK(b.request(200) == 502);
  b.at(2s);   // closed again, but one more round opens it for longer
  for (int i = 0; i < 3; ++i) CHECK(b.request(500) == 0);
  b.at(2s + 3999ms);
  CHECK(b.request(200) == 502);
  b.at(6s);
  CHECK(b.request(200) == 0);
  CHECK(b.request(200) == 0);
  CHECK(b.request(200) == 0);   // enough: all is forgotten
  CHECK(b.request(500) == 0);
  CHECK(b.request(500) == 0);
  CHECK(b.request(500) == 0);
  b.at(7999ms);
  CHECK(b.request(200) == 502);
  b.at(8s);
  CHECK(b.request(200) == 0);
}

TEST_CASE("api-breaker: a failure ends a row of successes", "[plugins][api-breaker]") {
  Breaker b(R"({"break_response_code":502,"healthy":{"successes":2}})");
  for (int i = 0; i < 3; ++i) b.request(500);
  b.at(3s);
  CHECK(b.request(200) == 0);
  CHECK(b.request(500) == 0);   // the fourth: no new opening
  CHECK(b.request(200) == 0);
  CHECK(b.request(500) == 0);
  CHECK(b.request(500) == 0);   // the sixth
  CHECK(b.request(200) == 502);
}

TEST_CASE("api-breaker stays open no longer than it is told, and its answer can have a body", "[plugins][api-breaker]") {
  Breaker b(R"({"break_response_code":599,"break_response_body":"{\"message\":\"open\"}",
                "break_response_headers":[{"key":"X-Broken","value":"at $uri"}],"max_breaker_sec":10,
                "unhealthy":{"http_statuses":[500,503],"failures":1}})");
  nanoseconds now{0};
  for (const nanoseconds open : {2s, 4s, 8s, 10s, 10s}) {
    CHECK(b.request(503) == 0);
    b.at(now + open - 1ms);
    CHECK(b.request(200) == 599);
    now += open;
    b.at(now);
  }
  CHECK(b.said == "{\"message\":\"open\"}");
  CHECK(b.field == "at /x");
}

TEST_CASE("api-breaker forgets failures that lie further back than it can be open", "[plugins][api-breaker]") {
  Breaker b(R"({"break_response_code":502,"max_breaker_sec":3})");
  b.request(500);
  b.request(500);
  b.at(10s);
  CHECK(b.request(500) == 0);
  CHECK(b.request(200) == 0);
}

TEST_CASE("api-breaker keeps routes apart and counts only what nodes answered", "[plugins][api-breaker]") {
  Breaker b(kPlain);
  for (int i = 0; i < 3; ++i) b.request(500, "1");
  CHECK(b.request(200, "1") == 502);
  CHECK(b.request(200, "2") == 0);
  CHECK(b.typed(b.plugin).peek("1", b.mono()).has_value());
  CHECK_FALSE(b.typed(b.plugin).peek("2", b.mono()).has_value());
}

TEST_CASE("api-breaker: workers share the circuit", "[plugins][api-breaker]") {
  Breaker b(kPlain);
  b.request(500);
  b.host.worker_slot = static_cast<int>(b.catalog->claim_worker(shm::WorkerRole::worker, 1, 1).value());
  auto other = b.make(kPlain);
  std::swap(b.plugin, other);
  b.request(500);
  b.request(500);
  std::swap(b.plugin, other);
  CHECK(b.request(200) == 502);
}
