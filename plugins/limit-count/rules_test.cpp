// limit-count with several rules.
#include <catch2/catch.hpp>

#include "plugins/limit-count/limit_count.hpp"
#include "test/support/limit_kit.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using plugins::limit_count::LimitCount;
using test::Asking;
using test::Limited;
using test::Said;

namespace {
// "Remaining Reset" of a rule's fields.
std::string left(const Said& said, const std::string& prefix) {
  return said.field("X-" + prefix + "-RateLimit-Remaining") + " " + said.field("X-" + prefix + "-RateLimit-Reset");
}
}  // namespace

TEST_CASE("limit-count: all rules must pass, the first refusal ends the round", "[plugins][limit-count][rules]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"rules":[{"count":1,"time_window":10,"key":"${http_company}"},
                                    {"count":3,"time_window":60,"key":"${remote_addr}","header_prefix":"Ip"}]})");
  const auto at = [&](int second, const char* company) {
    t.at(second * 1s);
    return t.ask(plugin, *company == 0 ? Asking{} : test::with("Company", company));
  };
  Said said = at(0, "acme");
  CHECK(said.passed());
  CHECK(left(said, "1") == "0 10");
  CHECK(left(said, "Ip") == "2 60");
  said = at(1, "acme");
  CHECK(said.status == 503);
  CHECK(left(said, "1") == "0 9");
  CHECK(left(said, "Ip") == "(none) (none)");   // not charged, not shown
  said = at(2, "");
  CHECK(said.passed());
  CHECK(left(said, "1") == "(none) (none)");    // does not apply
  CHECK(left(said, "Ip") == "1 58");
  said = at(3, "beta");
  CHECK(said.passed());
  CHECK(left(said, "1") == "0 10");
  CHECK(left(said, "Ip") == "0 57");
  said = at(4, "gamma");
  CHECK(said.status == 503);                    // by the second rule; the first has been charged
  CHECK(left(said, "1") == "0 10");
  CHECK(left(said, "Ip") == "0 56");
}

TEST_CASE("limit-count: every rule shows fields of its own", "[plugins][limit-count][rules]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"rules":[{"count":2,"time_window":60,"key":"${remote_addr}"},
                                    {"count":9,"time_window":3600,"key":"${remote_addr}_h","header_prefix":"hour"}]})");
  const std::map<std::string, std::string> expected = {
      {"X-1-RateLimit-Limit", "2"},    {"X-1-RateLimit-Remaining", "1"},    {"X-1-RateLimit-Reset", "60"},
      {"X-hour-RateLimit-Limit", "9"}, {"X-hour-RateLimit-Remaining", "8"}, {"X-hour-RateLimit-Reset", "3600"}};
  CHECK(t.ask(plugin).fields == expected);
  t.ask(plugin);
  const Said refused = t.ask(plugin);
  CHECK(refused.status == 503);
  CHECK(left(refused, "hour") == "(none) (none)");
  t.pass(60s);
  CHECK(left(t.ask(plugin), "hour") == "6 3540");   // the refused one was not charged
}

TEST_CASE("limit-count: a rule whose key resolves nothing is skipped, the others hold", "[plugins][limit-count][rules]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"rejected_code":429,"rules":[{"count":2,"time_window":60,"key":"${http_tenant}"},
                                                        {"count":5,"time_window":60,"key":"${remote_addr}"}]})");
  CHECK(t.statuses(plugin, 6) == "0 0 0 0 0 429");
  t.pass(60s);
  CHECK(t.statuses(plugin, 3, test::with("Tenant", "t1")) == "0 0 429");

  auto only = t.make(R"({"rules":[{"count":2,"time_window":60,"key":"${http_tenant}"}]})", "/apisix/routes/2");
  const Said said = t.ask(only);
  CHECK(said.status == 500);
  CHECK(said.body == "(none)");
  CHECK(t.statuses(only, 3, test::with("Tenant", "")) == "0 0 503");   // an empty value resolves
  auto defaulted = t.make(R"({"rules":[{"count":2,"time_window":60,"key":"${http_tenant ?? anon}"}]})", "/apisix/routes/3");
  CHECK(t.statuses(defaulted, 3) == "0 0 503");
  CHECK(t.ask(defaulted, test::with("Tenant", "anon")).status == 503);
  auto literal = t.make(R"({"rules":[{"count":2,"time_window":60,"key":"everybody"}]})", "/apisix/routes/4");
  CHECK(t.ask(literal).status == 500);
}

TEST_CASE("limit-count: a rule that applies with a bad number fails the request", "[plugins][limit-count][rules]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"rules":[{"count":"${http_c}","time_window":60,"key":"${http_tenant}"},
                                    {"count":1,"time_window":60,"key":"${remote_addr}"}]})");
  CHECK(t.ask(plugin, Asking{.headers = {{"Tenant", "t"}, {"C", "lots"}}}).status == 500);
  CHECK(t.ask(plugin, test::with("C", "lots")).passed());      // skipped before its number is looked at
  CHECK(t.ask(plugin, test::with("C", "lots")).status == 503);
}

TEST_CASE("limit-count: rules of different windows on one variable", "[plugins][limit-count][rules]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"rules":[{"count":2,"time_window":2,"key":"${remote_addr}_2s"},
                                    {"count":3,"time_window":5,"key":"${remote_addr}_5s"}]})");
  CHECK(t.statuses(plugin, 3) == "0 0 503");
  t.at(2100ms);
  CHECK(t.ask(plugin).passed());
  const Said said = t.ask(plugin);
  CHECK(said.status == 503);
  CHECK(said.field("X-1-RateLimit-Remaining") == "0");
  CHECK(said.field("X-2-RateLimit-Remaining") == "0");
}

TEST_CASE("limit-count: rules whose keys resolve alike count on one counter", "[plugins][limit-count][rules]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"rules":[{"count":4,"time_window":60,"key":"$remote_addr"},
                                    {"count":4,"time_window":60,"key":"${remote_addr}"}]})");
  const Said said = t.ask(plugin);
  CHECK(said.field("X-1-RateLimit-Remaining") == "3");
  CHECK(said.field("X-2-RateLimit-Remaining") == "2");
}

TEST_CASE("limit-count: a rule's quota from the request's own field", "[plugins][limit-count][rules]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"rules":[{"count":"${http_count ?? 1000000000}","time_window":60,"key":"${host}:${uri}","header_prefix":"one"}]})");
  Said said = t.ask(plugin);
  CHECK(said.field("X-one-RateLimit-Limit") == "1000000000");
  CHECK(said.field("X-one-RateLimit-Remaining") == "999999999");
  CHECK(t.ask(plugin).field("X-one-RateLimit-Remaining") == "999999998");
  Asking five = test::with("Count", "5");
  five.target = "/other";
  CHECK(t.statuses(plugin, 6, five) == "0 0 0 0 0 503");
  five.host = "elsewhere.test:8080";
  CHECK(t.ask(plugin, five).field("X-one-RateLimit-Remaining") == "4");
}

TEST_CASE("limit-count: sliding rules", "[plugins][limit-count][rules][sliding]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"window_type":"sliding","rules":[{"count":2,"time_window":10,"key":"$http_a"},
                                                            {"count":3,"time_window":10,"key":"$remote_addr"}]})");
  CHECK(t.statuses(plugin, 2, test::with("A", "1")) == "0 0");
  CHECK(t.statuses(plugin, 2, test::with("A", "2")) == "0 503");
  t.at(15s);   // half of 3 still weigh on the address
  CHECK(t.statuses(plugin, 3, test::with("A", "3")) == "0 0 503");
}
