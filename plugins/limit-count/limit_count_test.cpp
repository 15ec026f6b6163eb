#include "plugins/limit-count/limit_count.hpp"

#include <catch2/catch.hpp>

#include "test/support/limit_kit.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using plugins::limit_count::LimitCount;
using test::Asking;
using test::Kit;
using test::Limited;
using test::Said;

namespace {

const std::string kL = "X-RateLimit-Limit", kR = "X-RateLimit-Remaining", kT = "X-RateLimit-Reset";

// "200 Limit Remaining Reset".
std::string brief(const Said& said, const std::string& prefix = "") {
  const auto name = [&](const char* what) { return "X-" + prefix + "RateLimit-" + what; };
  return std::to_string(said.status == 0 ? 200 : said.status) + " " + said.field(name("Limit")) + " " +
         said.field(name("Remaining")) + " " + said.field(name("Reset"));
}

std::string compile_error(const char* conf, const sdk::PluginHost& host = {}) {
  const auto made = test::configured<LimitCount>(conf, host);
  return made ? "" : made.error().reason;
}

}  // namespace

TEST_CASE("limit-count: a fixed window begins with its first request", "[plugins][limit-count][fixed]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":2,"time_window":60})");
  t.at(7s);
  CHECK(brief(t.ask(plugin)) == "200 2 1 60");
  t.at(17s);
  CHECK(brief(t.ask(plugin)) == "200 2 0 50");
  t.at(27s);
  CHECK(brief(t.ask(plugin)) == "503 2 0 40");
  t.at(66999ms);
  CHECK(brief(t.ask(plugin)) == "503 2 0 0.01");
  t.at(67s);
  CHECK(brief(t.ask(plugin)) == "200 2 1 60");
}

TEST_CASE("limit-count: after the quota the reset field goes on falling and nothing is negative",
          "[plugins][limit-count]") {
  Limited<LimitCount> t;
  auto fixed = t.make(R"({"count":2,"time_window":60,"key":"remote_addr","rejected_code":429})");
  const char* expected[] = {"200 2 1 60", "200 2 0 59", "429 2 0 58", "429 2 0 57"};
  for (int i = 0; i < 4; ++i) {
    t.at(i * 1s);
    CHECK(brief(t.ask(fixed)) == expected[i]);
  }
  auto sliding = t.make(R"({"count":2,"time_window":60,"rejected_code":429,"window_type":"sliding"})", "/apisix/routes/2");
  const char* slid[] = {"200 2 1 60", "200 2 0 59", "429 2 0 58.01", "429 2 0 57.01"};
  for (int i = 0; i < 4; ++i) {
    t.at(i * 1s);
    CHECK(brief(t.ask(sliding)) == slid[i]);
  }
}

TEST_CASE("limit-count: refused requests do not move the end of the window", "[plugins][limit-count][fixed]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":1,"time_window":10})");
  t.ask(plugin);
  for (int i = 0; i < 100; ++i) {
    t.at(i * 99ms);
    CHECK(t.ask(plugin).status == 503);
  }
  t.at(10s);
  CHECK(t.ask(plugin).passed());
}

TEST_CASE("limit-count: a fixed window holds its quota, two around a border hold twice that",
          "[plugins][limit-count][fixed]") {
  Limited<LimitCount> t;
  auto fixed = t.make(R"({"count":100,"time_window":10})");
  auto sliding = t.make(R"({"count":100,"time_window":10,"window_type":"sliding"})", "/apisix/routes/2");
  const auto burst = [&](const sdk::PluginInstance& p) {
    int passed = 0;
    for (int i = 0; i < 100; ++i) passed += t.ask(p).passed();
    return passed;
  };
  t.at(0s);
  CHECK(t.ask(fixed).passed());
  CHECK(t.ask(sliding).passed());
  t.at(9500ms);
  CHECK(burst(fixed) == 99);
  CHECK(burst(sliding) == 99);
  t.at(10500ms);
  CHECK(burst(fixed) == 100);
  CHECK(burst(sliding) == 5);   // 100 of the window before weigh 95
}

TEST_CASE("limit-count: a sliding window weighs the one before", "[plugins][limit-count][sliding]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":10,"time_window":10,"window_type":"sliding"})");
  t.at(1s);
  for (int i = 0; i < 8; ++i) CHECK(t.ask(plugin).passed());
  const auto at = [&](nanoseconds offset) {
    t.at(10s + offset);
    return brief(t.ask(plugin));
  };
  CHECK(at(0s) == "200 10 1 10");
  CHECK(at(1s) == "200 10 0 9");
  CHECK(at(2s) == "200 10 0 8");
  CHECK(at(3s) == "200 10 0 7");
  CHECK(at(3s) == "200 10 0 7");          // never below zero
  CHECK(at(3s) == "503 10 0 0.76");       // waiting that long helps
  CHECK(at(3750ms) == "503 10 0 0.01");
  CHECK(at(3760ms) == "200 10 0 6.24");
}

TEST_CASE("limit-count: a sliding window that is full says when the next begins", "[plugins][limit-count][sliding]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":2,"time_window":60,"window_type":"sliding"})");
  t.at(5s);
  CHECK(brief(t.ask(plugin)) == "200 2 1 55");
  t.at(6s);
  CHECK(brief(t.ask(plugin)) == "200 2 0 54");
  t.at(7s);
  CHECK(brief(t.ask(plugin)) == "503 2 0 53.01");
  t.pass(53010ms);
  CHECK(t.ask(plugin).passed());
}

TEST_CASE("limit-count: sliding windows forget what lies two windows back", "[plugins][limit-count][sliding]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":2,"time_window":10,"window_type":"sliding"})");
  CHECK(t.statuses(plugin, 3) == "0 0 503");
  t.at(20s);
  CHECK(t.statuses(plugin, 3) == "0 0 503");
  t.at(70s);
  CHECK(t.statuses(plugin, 3) == "0 0 503");
}

TEST_CASE("limit-count: a wall clock that goes back opens no window again", "[plugins][limit-count][sliding]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":2,"time_window":10,"window_type":"sliding"})");
  t.at(20s);
  CHECK(t.statuses(plugin, 3) == "0 0 503");
  t.at(19s);
  CHECK(t.statuses(plugin, 2) == "503 503");
}

TEST_CASE("limit-count answers a refusal as it is told", "[plugins][limit-count]") {
  Limited<LimitCount> t;
  auto plain = t.make(R"({"count":1,"time_window":60})");
  t.ask(plain);
  CHECK(t.ask(plain).status == 503);
  CHECK(t.ask(plain).body == "(none)");
  auto worded = t.make(R"({"count":1,"time_window":60,"rejected_code":429,"rejected_msg":"slow down"})", "/apisix/routes/2");
  t.ask(worded);
  const Said said = t.ask(worded);
  CHECK(brief(said) == "429 1 0 60");
  CHECK(said.body == "{\"error_msg\":\"slow down\"}\n");
}

TEST_CASE("limit-count: whose quota a request uses", "[plugins][limit-count][key]") {
  Limited<LimitCount> t;
  auto address = t.make(R"({"count":1,"time_window":60})");
  CHECK(t.statuses(address, 2, test::from("10.0.0.1")) == "0 503");
  CHECK(t.statuses(address, 2, test::from("10.0.0.2")) == "0 503");

  auto header = t.make(R"({"count":1,"time_window":60,"key":"http_u"})", "/apisix/routes/2");
  CHECK(t.statuses(header, 2, test::with("U", "a")) == "0 503");
  CHECK(t.statuses(header, 2, test::with("U", "")) == "0 503");
  CHECK(t.statuses(header, 2, test::from("10.0.0.1")) == "0 503");

  auto pair = t.make(R"({"count":1,"time_window":60,"key":"$http_a $http_b","key_type":"var_combination"})", "/apisix/routes/3");
  CHECK(t.statuses(pair, 2, Asking{.headers = {{"A", "1"}, {"B", "2"}}}) == "0 503");
  CHECK(t.statuses(pair, 2, test::with("B", "2")) == "0 503");
  CHECK(t.statuses(pair, 2, test::from("10.0.0.1")) == "0 503");
  CHECK(t.statuses(pair, 2, test::from("10.0.0.2")) == "0 503");

  auto constant = t.make(R"({"count":3,"time_window":60,"key":"all","key_type":"constant"})", "/apisix/routes/4");
  CHECK(brief(t.ask(constant, test::from("10.0.0.1"))) == "200 3 2 60");   // one counter for everybody
  CHECK(brief(t.ask(constant, test::from("10.0.0.2"))) == "200 3 1 60");
  CHECK(brief(t.ask(constant, test::from("10.0.0.1"))) == "200 3 0 60");
  CHECK(brief(t.ask(constant, test::from("10.0.0.2"))) == "503 3 0 60");
}

TEST_CASE("limit-count: a quota belongs to the place that carries the plugin and its version", "[plugins][limit-count][key]") {
  Limited<LimitCount> t;
  const char* conf = R"({"count":1,"time_window":60})";
  CHECK(t.ask(t.make(conf, "/apisix/consumers/jack")).passed());
  CHECK(t.ask(t.make(conf, "/apisix/consumers/rose")).passed());
  CHECK_FALSE(t.ask(t.make(conf, "/apisix/consumers/jack")).passed());   // on another route: the consumer's own quota
  CHECK(t.ask(t.make(conf, "/apisix/services/jack")).passed());
  CHECK(t.ask(t.make(conf, "/apisix/consumers/jack", "77")).passed());
}

TEST_CASE("limit-count: places of one group share their counters", "[plugins][limit-count][group]") {
  Limited<LimitCount> t;
  const char* conf = R"({"count":3,"time_window":60,"group":"g","key":"k","key_type":"constant"})";
  CHECK(t.ask(t.make(conf, "/apisix/routes/1", "1")).field(kR) == "2");
  CHECK(t.ask(t.make(conf, "/apisix/routes/2", "2")).field(kR) == "1");
  CHECK(t.ask(t.make(conf, "/apisix/services/9", "3")).field(kR) == "0");
  CHECK(t.ask(t.make(conf, "/apisix/routes/1", "1")).status == 503);
  CHECK(t.ask(t.make(R"({"count":3,"time_window":60,"group":"h","key":"k","key_type":"constant"})")).passed());
}

TEST_CASE("limit-count: a group has one configuration", "[plugins][limit-count][group]") {
  Limited<LimitCount> t;
  t.host.group_conf = [](std::string_view plugin, std::string_view group) -> std::string {
    return plugin == "limit-count" && group == "g" ? R"({"count":1,"time_window":60,"group":"g","key":"k"})" : "";
  };
  CHECK(compile_error(R"({"count":2,"time_window":60,"group":"g","key":"k"})", t.host) == "group conf mismatched");
  CHECK(compile_error(R"({"count":1,"time_window":60,"group":"g","key":"k","rejected_code":429})", t.host) ==
        "group conf mismatched");
  // Order, spelled-out defaults and _meta make no difference.
  CHECK(compile_error(R"({"key":"k","group":"g","time_window":60,"count":1,"rejected_code":503,"policy":"local"})", t.host) == "");
  CHECK(compile_error(R"({"count":1,"time_window":60,"group":"g","key":"k","_meta":{"priority":1}})", t.host) == "");
  CHECK(compile_error(R"({"count":2,"time_window":60,"group":"other","key":"k"})", t.host) == "");
}

TEST_CASE("limit-count: a group with a templated quota resolves it per request", "[plugins][limit-count][group]") {
  Limited<LimitCount> t;
  const char* conf = R"({"count":"${http_c ?? 1}","time_window":60,"group":"g","key":"k","key_type":"constant"})";
  CHECK(brief(t.ask(t.make(conf, "/apisix/routes/1"))) == "200 1 0 60");
  CHECK(brief(t.ask(t.make(conf, "/apisix/routes/2"))) == "503 1 0 60");
  CHECK(brief(t.ask(t.make(conf, "/apisix/routes/2"), test::with("C", "5"))) == "200 5 2 60");
}

TEST_CASE("limit-count resolves count and window per request", "[plugins][limit-count][template]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":"${http_x_quota ?? 2}","time_window":"${http_x_window ?? 60}"})");
  CHECK(brief(t.ask(plugin)) == "200 2 1 60");
  CHECK(brief(t.ask(plugin)) == "200 2 0 60");
  CHECK(brief(t.ask(plugin, test::with("X-Quota", "5"))) == "200 5 2 60");   // consumption is kept, the comparison changes
  for (const char* bad : {"abc", "0", "1.5", "-1", "", "1e99", "inf", "nan", "9007199254740992"}) {
    INFO(bad);
    const Said said = t.ask(plugin, test::with("X-Quota", bad));
    CHECK(said.status == 500);
    CHECK(said.body == "(none)");
    CHECK(said.fields.empty());
    CHECK(t.ask(plugin, test::with("X-Window", bad)).status == 500);
  }
  CHECK(brief(t.ask(plugin, test::with("X-Quota", "9007199254740991"))) == "200 9007199254740991 9007199254740987 60");
  auto undefined = t.make(R"({"count":"$http_x_quota","time_window":60})", "/apisix/routes/2");
  CHECK(t.ask(undefined).status == 500);
  CHECK(t.ask(undefined, test::with("X-Quota", "1")).passed());
}

TEST_CASE("limit-count: sliding windows of different lengths do not disturb each other", "[plugins][limit-count][template]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":2,"time_window":"${http_w ?? 60}","window_type":"sliding"})");
  const Asking brief_window = test::with("W", "10");
  for (int i = 0; i < 2; ++i) {
    CHECK(t.ask(plugin).passed());
    CHECK(t.ask(plugin, brief_window).passed());
  }
  CHECK(t.ask(plugin).status == 503);
  CHECK(t.ask(plugin, brief_window).status == 503);
  t.at(20s);
  CHECK(t.statuses(plugin, 3, brief_window) == "0 0 503");
  CHECK(t.ask(plugin).status == 503);
}

TEST_CASE("limit-count passes what it cannot decide only when it may", "[plugins][limit-count]") {
  Limited<LimitCount> t;
  auto number = t.make(R"({"count":"${http_c}","time_window":60,"allow_degradation":true})");
  Said said = t.ask(number, test::with("C", "many"));
  CHECK(said.passed());
  CHECK(said.fields.empty());
  auto rules = t.make(R"({"rules":[{"count":1,"time_window":60,"key":"${http_tenant}"}],"allow_degradation":true})",
                      "/apisix/routes/2");
  CHECK(t.statuses(rules, 3) == "0 0 0");
  CHECK(t.statuses(rules, 2, test::with("Tenant", "t")) == "0 503");
}

TEST_CASE("limit-count names its fields after the plugin's metadata", "[plugins][limit-count][headers]") {
  Limited<LimitCount> t;
  t.metadata = parse_json(R"({"limit_header":"RL-L","remaining_header":"RL-R"})").value();
  const Said said = t.ask(t.make(R"({"count":2,"time_window":60})"));
  CHECK(said.field("RL-L") == "2");
  CHECK(said.field("RL-R") == "1");
  CHECK(said.field(kT) == "60");   // what it leaves out has its default
  CHECK(said.field(kL) == "(none)");
  const Said rules = t.ask(t.make(R"({"rules":[{"count":2,"time_window":60,"key":"$uri","header_prefix":"Jack"}]})", "/apisix/routes/2"));
  CHECK(rules.field("RL-L") == "2");   // no "RateLimit-" to put the prefix before
  CHECK(rules.field("X-Jack-RateLimit-Reset") == "60");
}

TEST_CASE("limit-count shows quota fields only when asked", "[plugins][limit-count][headers]") {
  Limited<LimitCount> t;
  auto hidden = t.make(R"({"count":1,"time_window":60,"show_limit_quota_header":false})");
  CHECK(t.ask(hidden).fields.empty());
  CHECK(t.ask(hidden).fields.empty());

  auto ietf = t.make(R"({"count":1,"time_window":60,"headers_style":"ietf"})", "/apisix/routes/2");
  Said said = t.ask(ietf);
  CHECK(said.fields == std::map<std::string, std::string>{{"RateLimit-Policy", "\"default\";q=1;w=60"},
                                                          {"RateLimit", "\"default\";r=0;t=60"}});
  t.pass(500ms);
  said = t.ask(ietf);
  CHECK(said.field("RateLimit") == "\"default\";r=0;t=60");   // whole seconds, upwards
  CHECK(said.field("Retry-After") == "60");

  auto both = t.make(R"({"count":1,"time_window":1,"headers_style":"both"})", "/apisix/routes/3");
  t.ask(both);
  t.pass(999ms);
  said = t.ask(both);
  CHECK(said.field(kT) == "0.01");
  CHECK(said.field("Retry-After") == "1");   // at least one
}

TEST_CASE("limit-count: a trial run counts, refuses nobody and says what it would have done", "[plugins][limit-count]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":1,"time_window":60,"dry_run":true,"headers_style":"both"})");
  CHECK(t.ask(plugin).verdict == "admitted");
  const Said said = t.ask(plugin);
  CHECK(brief(said) == "200 1 0 60");
  CHECK(said.verdict == "would_refuse");
  CHECK(said.field("Retry-After") == "(none)");
}

TEST_CASE("limit-count: who is let past is not counted", "[plugins][limit-count]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":1,"time_window":60,"key":"uri","bypass":{"cidrs":["10.0.0.0/8"]}})");
  CHECK(t.statuses(plugin, 3, test::from("10.1.2.3")) == "0 0 0");
  CHECK(t.ask(plugin, test::from("10.1.2.3")).fields.empty());
  CHECK(t.statuses(plugin, 2) == "0 503");
}

TEST_CASE("limit-count looks without counting", "[plugins][limit-count][peek]") {
  for (const char* type : {"fixed", "sliding"}) {
    INFO(type);
    Limited<LimitCount> t;
    auto plugin = t.make(std::string(R"({"count":2,"time_window":60,"window_type":")") + type + "\"}");
    const sdk::Quota quota{2, 60};
    const auto look = [&] { return t.typed(plugin).peek("127.0.0.1", quota, t.mono(), t.wall()); };
    for (int i = 0; i < 3; ++i) CHECK(look().remaining == 1);
    CHECK(t.catalog->limit_count().stats().entries == 0);
    CHECK(t.ask(plugin).field(kR) == "1");
    for (int i = 0; i < 3; ++i) CHECK(look().remaining == 0);
    CHECK(look().admitted);
    CHECK(t.ask(plugin).field(kR) == "0");
    for (int i = 0; i < 3; ++i) CHECK_FALSE(look().admitted);
    CHECK(t.ask(plugin).status == 503);
    CHECK(look().used == (type == std::string("fixed") ? 4u : 2u));
  }
}

TEST_CASE("limit-count leaves a summary for logs", "[plugins][limit-count]") {
  Limited<LimitCount> t;
  auto plugin = t.make(R"({"count":1,"time_window":60,"key":"http_u"})");
  Kit kit;
  kit.header("U", "a\"b");
  const Said said = t.ask(plugin, kit);
  CHECK(said.info == R"({"rate_limiting_key":"/apisix/routes/1:1:a\"b","rate_limiting_limit":1,"rate_limiting_remaining":0,"rate_limiting_reset":60})");
  CHECK(kit.ctx.limit_plugin == "limit-count");
  CHECK(kit.ctx.limit_key == "a\"b");
  CHECK(kit.ctx.limit_remaining == 0);
  CHECK(t.ask(plugin, test::with("U", "a\"b")).verdict == "refused");
}

TEST_CASE("limit-count refuses wrong configurations", "[plugins][limit-count][schema]") {
  CHECK(compile_error(R"({"count":1,"time_window":60,"window_type":"hopping"})") ==
        "property \"window_type\" validation failed: matches none of the enum values");
  CHECK(compile_error(R"({"count":1,"time_window":60,"rejected_code":600})") ==
        "property \"rejected_code\" validation failed: expected 600 to be at most 599");
  CHECK(compile_error(R"({"rules":[{"count":1,"time_window":60}]})").find("property \"key\" is required") != std::string::npos);
  CHECK(compile_error(R"({"count":1,"time_window":60,"policy":"redis","redis_host":"127.0.0.1"})") ==
        "policy redis is not available in this build");
  CHECK(compile_error(R"({"count":1,"time_window":60,"bypass":{"cidrs":["here"]}})") != "");
  CHECK(compile_error(R"([])") != "");
}

TEST_CASE("limit-count survives numbers at the edge", "[plugins][limit-count]") {
  Limited<LimitCount> t;
  const char* conf = R"({"count":9223372036854775807,"time_window":9223372036854775807})";
  const Said said = t.ask(t.make(conf));
  CHECK(said.passed());
  CHECK(said.field(kR) == "9223372036854775806");
  CHECK(said.field(kT) == "4000000000");
  CHECK(t.ask(t.make(R"({"count":9223372036854775807,"time_window":9223372036854775807,"window_type":"sliding"})", "/apisix/routes/2")).passed());
}
