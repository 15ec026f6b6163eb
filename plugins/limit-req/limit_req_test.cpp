#include "plugins/limit-req/limit_req.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "test/support/limit_kit.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using plugins::limit_req::LimitReq;
using test::Asking;
using test::Kit;
using test::Limited;
using test::Said;

namespace {

// Asks at a time and compares: -1 is a refusal, else the delay in milliseconds.
struct Step {
  double at_ms;
  double delay_ms;
};
void play(Limited<LimitReq>& t, const sdk::PluginInstance& plugin, std::initializer_list<Step> steps,
          std::uint16_t refused = 503) {
  int n = 0;
  for (const Step& s : steps) {
    INFO("step " << ++n << " at " << s.at_ms << " ms");
    t.at(nanoseconds(std::llround(s.at_ms * 1e6)));
    const Said said = t.ask(plugin);
    CHECK(said.status == (s.delay_ms < 0 ? refused : 0));
    if (s.delay_ms >= 0) CHECK(static_cast<double>(said.delay.count()) / 1e6 == Approx(s.delay_ms).margin(1e-6));
  }
}

std::string compile_error(const char* conf) {
  const auto made = test::configured<LimitReq>(conf);
  return made ? "" : made.error().reason;
}

}  // namespace

TEST_CASE("limit-req without a burst lets one through per interval", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  play(t, t.make(R"({"rate":1,"burst":0,"key":"remote_addr"})"),
       {{0, 0}, {400, -1}, {900, -1}, {1000, 0}, {1999, -1}, {2000, 0}});
  play(t, t.make(R"({"rate":3,"burst":0,"key":"remote_addr"})", "/apisix/routes/2"),
       {{0, 0}, {333, -1}, {334, 0}, {667, -1}, {668, 0}});
}

TEST_CASE("limit-req delays the burst and refuses what is beyond it", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  play(t, t.make(R"({"rate":10,"burst":5,"key":"remote_addr"})"),
       {{0, 0}, {0, 100}, {0, 200}, {0, 300}, {0, 400}, {0, 500}, {0, -1}, {250, 350}});
  play(t, t.make(R"({"rate":100,"burst":10,"key":"remote_addr"})", "/apisix/routes/2"),
       {{0, 0}, {0, 10}, {0, 20}, {0, 30}, {0, 40}, {0, 50}, {0, 60}, {0, 70}, {0, 80}, {0, 90}, {0, 100}, {0, -1}, {55, 55}});
  play(t, t.make(R"({"rate":1,"burst":3,"key":"remote_addr"})", "/apisix/routes/3"),
       {{0, 0}, {0, 1000}, {0, 2000}, {0, 3000}, {0, -1}, {0, -1}});
}

TEST_CASE("limit-req takes fractions of rate and burst", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  play(t, t.make(R"({"rate":0.5,"burst":1,"key":"remote_addr"})"), {{0, 0}, {1000, 1000}, {1500, -1}, {2000, 2000}});
  play(t, t.make(R"({"rate":2,"burst":1.5,"key":"remote_addr"})", "/apisix/routes/2"),
       {{0, 0}, {0, 500}, {0, -1}, {100, -1}, {250, 750}, {3'600'250, 0}, {3'600'250, 500}, {3'600'250, -1}});
}

TEST_CASE("limit-req: refusals make nobody wait longer", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  auto plugin = t.make(R"({"rate":2,"burst":1,"key":"remote_addr"})");
  play(t, plugin, {{0, 0}, {10, 490}, {20, -1}, {300, -1}, {500, 500}, {501, -1}, {2000, 0}, {2000, 500}});
  t.at(3000ms);
  t.ask(plugin);
  t.ask(plugin);
  for (int i = 0; i < 1000; ++i) CHECK(t.ask(plugin).status == 503);
  t.at(3500ms);
  CHECK(t.ask(plugin).passed());
}

TEST_CASE("limit-req: nodelay counts alike and delays nobody", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  play(t, t.make(R"({"rate":10,"burst":5,"key":"remote_addr","nodelay":true})"),
       {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, -1}, {250, 0}, {250, 0}, {250, -1}});
  auto plugin = t.make(R"({"rate":1,"burst":3,"key":"remote_addr","nodelay":true})", "/apisix/routes/2");
  CHECK(t.statuses(plugin, 6) == "0 0 0 0 503 503");
}

TEST_CASE("limit-req: idle time is not saved up", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  auto plugin = t.make(R"({"rate":1000,"burst":2,"key":"remote_addr","nodelay":true})");
  for (int day = 0; day < 5; ++day) {
    t.at(day * 24h);
    CHECK(t.statuses(plugin, 5) == "0 0 0 503 503");
  }
}

TEST_CASE("limit-req: a delay below a millisecond is none", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  play(t, t.make(R"({"rate":1001,"burst":5,"key":"remote_addr"})"), {{0, 0}, {0, 0}, {0, 2 / 1.001}});
}

TEST_CASE("limit-req counts in less than milliseconds", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  // 1,500 evenly spaced requests a second never meet a limit of 3,000, burst or not.
  auto strict = t.make(R"({"rate":3000,"burst":0,"key":"remote_addr"})");
  int passed = 0;
  for (int i = 0; i < 15000; ++i) {
    t.at(nanoseconds(i * 1'000'000'000LL / 1500));
    passed += t.ask(strict).passed();
  }
  CHECK(passed == 15000);
  // Of 6,000 a second it lets 3,000 a second through, and once the burst.
  auto loose = t.make(R"({"rate":3000,"burst":300,"key":"remote_addr"})", "/apisix/routes/2");
  passed = 0;
  for (int i = 0; i < 60000; ++i) {
    t.at(nanoseconds(i * 1'000'000'000LL / 6000));
    passed += t.ask(loose).passed();
  }
  CHECK(passed >= 30000 + 299);
  CHECK(passed <= 30000 + 301);
}

TEST_CASE("limit-req: a clock that is behind gives nothing and takes nothing", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  auto plugin = t.make(R"({"rate":100,"burst":3,"key":"remote_addr","nodelay":true})");
  t.at(10s);
  CHECK(t.ask(plugin).passed());
  t.at(9s);   // another worker's wake-up
  CHECK(t.statuses(plugin, 4) == "0 0 0 503");
  t.at(10s);
  CHECK(t.ask(plugin).status == 503);   // the second that went back has drained nothing
  t.at(10s + 10ms);
  CHECK(t.statuses(plugin, 2) == "0 503");
}

TEST_CASE("limit-req answers a refusal as it is told", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  auto plain = t.make(R"({"rate":1,"burst":0,"key":"remote_addr"})");
  t.ask(plain);
  Said said = t.ask(plain);
  CHECK(said.status == 503);
  CHECK(said.body == "(none)");
  CHECK(said.fields.empty());
  CHECK(said.verdict == "refused");
  auto worded = t.make(R"({"rate":1,"burst":0,"key":"remote_addr","rejected_code":429,"rejected_msg":"slow \"down\""})",
                       "/apisix/routes/2");
  t.ask(worded);
  said = t.ask(worded);
  CHECK(said.status == 429);
  CHECK(said.body == "{\"error_msg\":\"slow \\\"down\\\"\"}\n");
}

TEST_CASE("limit-req: whose bucket a request uses", "[plugins][limit-req][key]") {
  Limited<LimitReq> t;
  auto header = t.make(R"({"rate":1,"burst":0,"key":"http_x_user"})");
  CHECK(t.ask(header, test::with("X-User", "a")).passed());
  CHECK(t.ask(header, test::with("X-User", "b")).passed());
  CHECK_FALSE(t.ask(header, test::with("X-User", "a")).passed());
  CHECK(t.ask(header, test::with("X-User", "")).passed());          // an empty value is a value
  CHECK_FALSE(t.ask(header, test::with("X-User", "")).passed());
  CHECK(t.ask(header, test::from("10.0.0.7")).passed());            // none: the client's address
  CHECK_FALSE(t.ask(header, test::from("10.0.0.7")).passed());
  CHECK(t.ask(header, test::from("10.0.0.8")).passed());
  CHECK_FALSE(t.ask(header, test::with("X-User", "10.0.0.8")).passed());   // the same text is the same key

  auto pair = t.make(R"({"rate":1,"burst":0,"key":"$http_a-$http_b","key_type":"var_combination"})", "/apisix/routes/2");
  CHECK(t.ask(pair, Asking{.headers = {{"A", "1"}, {"B", "2"}}}).passed());
  CHECK(t.ask(pair, test::with("A", "1")).passed());                // what is missing is empty
  CHECK_FALSE(t.ask(pair, test::with("A", "1")).passed());
  CHECK(t.ask(pair).passed());                                      // nothing resolves: the client's address
  CHECK_FALSE(t.ask(pair).passed());
  CHECK(t.ask(pair, test::from("10.0.0.9")).passed());

  auto literal = t.make(R"({"rate":1,"burst":0,"key":"all","key_type":"var_combination"})", "/apisix/routes/3");
  CHECK(t.ask(literal, test::from("10.0.0.1")).passed());           // no reference at all: the client's address
  CHECK(t.ask(literal, test::from("10.0.0.2")).passed());
  CHECK_FALSE(t.ask(literal, test::from("10.0.0.1")).passed());
}

TEST_CASE("limit-req: a bucket belongs to the place that carries the plugin and its version", "[plugins][limit-req][key]") {
  Limited<LimitReq> t;
  const char* conf = R"({"rate":1,"burst":0,"key":"remote_addr"})";
  CHECK(t.ask(t.make(conf, "/apisix/services/1")).passed());
  CHECK_FALSE(t.ask(t.make(conf, "/apisix/services/1")).passed());   // compiled again for another route: the same bucket
  CHECK(t.ask(t.make(conf, "/apisix/routes/1")).passed());
  CHECK(t.ask(t.make(conf, "/apisix/global_rules/1")).passed());
  CHECK(t.ask(t.make(conf, "/apisix/services/1", "2")).passed());    // a changed configuration starts afresh
}

TEST_CASE("limit-req: all workers share a bucket", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  const char* conf = R"({"rate":1,"burst":3,"key":"remote_addr","nodelay":true})";
  std::vector<sdk::PluginInstance> workers;
  for (unsigned n = 0; n < 4; ++n) {
    if (n > 0) t.host.worker_slot = static_cast<int>(t.catalog->claim_worker(shm::WorkerRole::worker, 1, n).value());
    workers.push_back(t.make(conf));
  }
  int passed = 0;
  for (int i = 0; i < 40; ++i) passed += t.ask(workers[static_cast<std::size_t>(i) % 4]).passed();
  CHECK(passed == 4);
}

TEST_CASE("limit-req looks without counting", "[plugins][limit-req][peek]") {
  Limited<LimitReq> t;
  auto plugin = t.make(R"({"rate":10,"burst":1,"key":"remote_addr"})");
  const LimitReq& limiter = t.typed(plugin);
  for (int i = 0; i < 3; ++i) CHECK(limiter.peek("127.0.0.1", t.mono()).admitted);
  CHECK(t.catalog->limit_req().stats().entries == 0);
  CHECK(t.ask(plugin).delay == 0ms);
  for (int i = 0; i < 3; ++i) CHECK(limiter.peek("127.0.0.1", t.mono()).delay == 100ms);
  CHECK(t.ask(plugin).delay == 100ms);
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(limiter.peek("127.0.0.1", t.mono()).admitted);
    CHECK(limiter.peek("127.0.0.1", t.mono()).excess() == Approx(2));
    CHECK(limiter.peek("127.0.0.1", t.mono() + 100ms).admitted);
    CHECK(limiter.peek("127.0.0.2", t.mono()).delay == 0ms);
  }
  CHECK_FALSE(t.ask(plugin).passed());
}

TEST_CASE("limit-req: a trial run counts, refuses nobody and says what it would have done", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  auto plugin = t.make(R"({"rate":1,"burst":1,"key":"remote_addr","dry_run":true})");
  CHECK(t.ask(plugin).verdict == "admitted");
  CHECK(t.ask(plugin).verdict == "admitted");
  const Said third = t.ask(plugin);
  CHECK(third.passed());
  CHECK(third.delay == 0ms);
  CHECK(third.verdict == "would_refuse");
}

TEST_CASE("limit-req: who is let past is not counted", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  auto plugin = t.make(R"({"rate":1,"burst":0,"key":"uri","bypass":{"cidrs":["10.0.0.0/8"],"consumers":["vip"]}})");
  CHECK(t.statuses(plugin, 5, test::from("10.1.2.3")) == "0 0 0 0 0");
  for (int i = 0; i < 3; ++i) {
    Kit kit;
    auto vip = sdk::make_ref<sdk::Consumer>();
    vip->name = "vip";
    kit.ctx.attach_consumer(vip, {});
    CHECK(t.ask(plugin, kit).passed());
  }
  CHECK(t.statuses(plugin, 2) == "0 503");
}

TEST_CASE("limit-req leaves its verdict for logs", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  auto plugin = t.make(R"({"rate":1,"burst":1,"key":"http_u"})");
  for (const char* verdict : {"admitted", "delayed", "refused"}) {
    Kit kit;
    kit.header("U", "jack");
    CHECK(t.ask(plugin, kit).verdict == verdict);
    CHECK(kit.ctx.limit_plugin == "limit-req");
    CHECK(kit.ctx.limit_key == "jack");
  }
}

TEST_CASE("limit-req: a drained bucket may be forgotten, no other", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  auto plugin = t.make(R"({"rate":1,"burst":2,"key":"remote_addr"})");
  t.statuses(plugin, 3);
  const LimitReq& limiter = t.typed(plugin);
  CHECK_FALSE(limiter.peek("127.0.0.1", t.mono()).admitted);
  // An excess of 2 is gone after 2 s; up to 3 s the next request still owes something.
  CHECK(limiter.peek("127.0.0.1", t.mono() + 2999ms).delay == 1ms);
  CHECK(limiter.peek("127.0.0.1", t.mono() + 3s).delay == 0ms);
  t.pass(3s);
  shm::Dict<sdk::LeakyBucket> dict(t.catalog->limit_req());
  int alive = 0;
  dict.for_each(t.mono(), [&](const auto&) { ++alive; });
  CHECK(alive == 0);
}

TEST_CASE("limit-req refuses wrong configurations", "[plugins][limit-req][schema]") {
  CHECK(compile_error(R"({"rate":1,"burst":0,"key":"uri","rejected_code":199})") ==
        "property \"rejected_code\" validation failed: expected 199 to be at least 200");
  CHECK(compile_error(R"({"rate":1,"burst":0,"key":"uri","rejected_code":600})") ==
        "property \"rejected_code\" validation failed: expected 600 to be at most 599");
  CHECK(compile_error(R"({"rate":"1","burst":0,"key":"uri"})") ==
        "property \"rate\" validation failed: wrong type: expected number, got string");
  CHECK(compile_error(R"({"rate":1,"burst":0,"key":1})") ==
        "property \"key\" validation failed: wrong type: expected string, got number");
  CHECK(compile_error(R"({"rate":1,"burst":0,"key":"uri","policy":"redis","redis_host":"127.0.0.1"})") ==
        "policy redis is not available in this build");
  CHECK(compile_error(R"({"rate":1,"burst":0,"key":"uri","bypass":{"cidrs":["10.0.0.300"]}})") != "");
}

TEST_CASE("limit-req survives numbers at the edge", "[plugins][limit-req]") {
  Limited<LimitReq> t;
  auto huge = t.make(R"({"rate":1e300,"burst":1e300,"key":"uri"})");
  CHECK(t.statuses(huge, 3) == "0 0 0");
  auto slow = t.make(R"({"rate":1e-300,"burst":1,"key":"uri"})", "/apisix/routes/2");
  CHECK(t.ask(slow).delay == 0ms);
  CHECK(t.ask(slow).delay > 24h * 365 * 100);
  t.pass(24h * 365);
  CHECK_FALSE(t.ask(slow).passed());
}

// The model: permitted requests leave one after the other, 1/rate apart. A request takes the next free place; what lies
// more than burst places ahead is refused. Counted in whole units (nanoseconds times requests), without rounding.
namespace {
__extension__ typedef __int128 Wide;

struct Lane {
  bool used = false;
  Wide free = 0;       // when the next place is free
  std::int64_t last = 0;
};
struct Model {
  std::int64_t numerator, denominator;   // the rate
  double burst;
  // Delay in units of 1/numerator nanoseconds; -1: refused.
  Wide ask(Lane& lane, std::int64_t now) const {
    const Wide request = Wide{1'000'000'000} * denominator;
    const auto most = static_cast<Wide>(burst * 1e9) * denominator;
    now = lane.used ? std::max(now, lane.last) : now;
    const Wide at = Wide{now} * numerator;
    const Wide ahead = lane.used ? std::max(lane.free - at, Wide{0}) : Wide{0};
    if (ahead > most) return -1;
    lane.used = true;
    lane.free = at + ahead + request;
    lane.last = now;
    return ahead;
  }
};
}  // namespace

TEST_CASE("limit-req agrees with a lane of places on random schedules", "[plugins][limit-req][model]") {
  struct Setup {
    std::int64_t numerator, denominator;
    double burst;
    std::int64_t grain;   // steps of the clock, so that rate x time is whole
  };
  const Setup setup = GENERATE(Setup{1, 1, 0, 1'000'000}, Setup{3000, 1, 5000, 1}, Setup{3000, 1, 0, 1},
                               Setup{100, 1, 300, 1}, Setup{10, 1, 5.5, 1}, Setup{1, 2, 3, 2}, Setup{7, 4, 2.25, 4});
  Limited<LimitReq> t;
  const double rate = static_cast<double>(setup.numerator) / static_cast<double>(setup.denominator);
  const std::string conf = "{\"rate\":" + std::to_string(rate) + ",\"burst\":" + std::to_string(setup.burst) +
                           ",\"key\":\"http_k\"}";
  std::vector<sdk::PluginInstance> workers;
  workers.push_back(t.make(conf));
  t.host.worker_slot = static_cast<int>(t.catalog->claim_worker(shm::WorkerRole::worker, 1, 1).value());
  workers.push_back(t.make(conf));
  const Model model{setup.numerator, setup.denominator, setup.burst};
  Lane lanes[5];
  std::mt19937_64 random(static_cast<std::uint64_t>(setup.numerator * 1000 + setup.denominator));
  const auto interval = static_cast<std::int64_t>(1e9 / rate);
  std::int64_t clock = 0;
  int refused = 0, delayed = 0, wrong = 0;
  for (int step = 0; step < 100'000 && wrong < 5; ++step) {
    const bool storm = step / 15'000 % 2 == 0;   // everybody at once, most of them on one key
    switch (storm ? random() % 4 : random() % 8) {
      case 0: case 1: break;                                                         // the same instant
      case 2: clock += static_cast<std::int64_t>(random() % 1000); break;
      case 3: clock -= std::min<std::int64_t>(clock, static_cast<std::int64_t>(random() % 2'000'000)); break;
      case 4: if (random() % 100 == 0) clock += 60'000'000'000; break;               // a long silence
      default: clock += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(interval));
    }
    clock -= clock % setup.grain;
    t.at(nanoseconds(clock));
    const std::size_t key = storm && random() % 8 != 0 ? 0 : random() % 5;
    const sdk::PluginInstance& worker = workers[random() % 2];
    const std::string name = std::to_string(key);
    const bool look = random() % 4 == 0;
    const auto seen = look ? t.typed(worker).peek(name, t.mono()) : sdk::LeakyVerdict{};
    const Said said = t.ask(worker, test::with("K", name));
    const Wide owed = model.ask(lanes[key], to_ns(t.mono()));
    refused += owed < 0;
    delayed += owed > 0;
    // Delays: to the nanosecond below; a millisecond is the least that is waited for.
    const auto want = owed < 0 ? -1 : static_cast<std::int64_t>(owed / setup.numerator);
    const auto got = said.delay.count();
    const bool same = said.passed() == (owed >= 0) &&
                      (owed < 0 || (want < 1'000'000 ? got <= 1'000'000 : std::abs(got - want) <= 1));
    const bool told = !look || (seen.admitted == said.passed() && (!seen.admitted || std::abs(seen.delay.count() - want) <= 1));
    if (same && told) continue;
    ++wrong;
    FAIL_CHECK("step " << step << ", clock " << clock << ", key " << key << ": model " << want << ", limiter "
                       << said.status << " " << got << ", seen " << seen.delay.count());
  }
  CHECK(refused > 100);
  if (setup.burst > 0) CHECK(delayed > 100);
}
