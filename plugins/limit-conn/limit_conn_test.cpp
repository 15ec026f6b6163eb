#include "plugins/limit-conn/limit_conn.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "test/support/limit_kit.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using plugins::limit_conn::LimitConn;
using test::Asking;
using test::Kit;
using test::Limited;
using test::Said;

namespace {

// A request that stays in flight until it is ended.
class InFlight {
 public:
  InFlight(const Limited<LimitConn>& t, const sdk::PluginInstance& plugin, const Asking& asking = {})
      : kit_(asking.target), self_(plugin.self), log_(plugin.log) {
    Limited<LimitConn>::describe(kit_, asking);
    said = t.ask(plugin, kit_);
  }
  void end() { log_(self_.get(), kit_.ctx); }   // its log phase
  Said said;
  Kit& kit() { return kit_; }

 private:
  Kit kit_;
  std::shared_ptr<const void> self_;
  sdk::HeadFn log_;
};
using Requests = std::vector<std::unique_ptr<InFlight>>;

std::string enter(const Limited<LimitConn>& t, const sdk::PluginInstance& plugin, Requests& requests, int times,
                  const Asking& asking = {}) {
  std::string all;
  for (int i = 0; i < times; ++i) {
    requests.push_back(std::make_unique<InFlight>(t, plugin, asking));
    const Said& said = requests.back()->said;
    all += (all.empty() ? "" : " ") + (said.passed() ? std::to_string(said.delay / 1ms) : "x" + std::to_string(said.status));
  }
  return all;
}

std::string compile_error(const char* conf) {
  const auto made = test::configured<LimitConn>(conf);
  return made ? "" : made.error().reason;
}

}  // namespace

TEST_CASE("limit-conn bounds what is in flight", "[plugins][limit-conn]") {
  Limited<LimitConn> t;
  auto plugin = t.make(R"({"conn":1,"burst":0,"default_conn_delay":0.1,"key":"remote_addr"})");
  Requests r;
  CHECK(enter(t, plugin, r, 2) == "0 x503");
  CHECK(r[1]->said.body == "(none)");
  CHECK(r[1]->said.fields.empty());
  r[1]->end();                                // of a refused request: nothing to give back
  CHECK(t.typed(plugin).peek("127.0.0.1") == 1);
  CHECK(enter(t, plugin, r, 1) == "x503");
  r[0]->end();
  CHECK(enter(t, plugin, r, 2) == "0 x503");
}

TEST_CASE("limit-conn delays the burst", "[plugins][limit-conn]") {
  Limited<LimitConn> t;
  Requests r;
  auto one = t.make(R"({"conn":1,"burst":2,"default_conn_delay":0.1,"key":"remote_addr"})");
  CHECK(enter(t, one, r, 4) == "0 100 200 x503");
  r[0]->end();
  CHECK(enter(t, one, r, 1) == "200");        // the two that are held back count
  Requests s;
  auto two = t.make(R"({"conn":2,"burst":3,"default_conn_delay":0.5,"key":"remote_addr"})", "/apisix/routes/2");
  CHECK(enter(t, two, s, 6) == "0 0 500 500 1000 x503");
  Requests u;
  auto timed = t.make(R"({"conn":2,"burst":2,"default_conn_delay":0.2,"key":"remote_addr","only_use_default_delay":true})",
                      "/apisix/routes/3");
  CHECK(enter(t, timed, u, 5) == "0 0 200 200 x503");
  u[0]->end();
  CHECK(enter(t, timed, u, 1) == "200");
  Requests v;
  auto brief = t.make(R"({"conn":1,"burst":3,"default_conn_delay":0.0004,"key":"remote_addr"})", "/apisix/routes/4");
  enter(t, brief, v, 4);
  CHECK(v[2]->said.delay == 0ns);             // below a millisecond: no delay
  CHECK(v[3]->said.delay == 1200us);
}

TEST_CASE("limit-conn answers a refusal as it is told", "[plugins][limit-conn]") {
  Limited<LimitConn> t;
  auto plugin = t.make(R"({"conn":1,"burst":0,"default_conn_delay":0.1,"key":"uri","rejected_code":429,"rejected_msg":"busy"})");
  Requests r;
  CHECK(enter(t, plugin, r, 2) == "0 x429");
  CHECK(r[1]->said.body == "{\"error_msg\":\"busy\"}\n");
  CHECK(r[1]->said.verdict == "refused");
  CHECK(r[1]->kit().ctx.limit_plugin == "limit-conn");
  CHECK(r[1]->kit().ctx.limit_key == "/hello");
}

TEST_CASE("limit-conn gives back exactly once", "[plugins][limit-conn]") {
  Limited<LimitConn> t;
  auto plugin = t.make(R"({"conn":3,"burst":0,"default_conn_delay":0.1,"key":"remote_addr"})");
  Requests r;
  enter(t, plugin, r, 3);
  for (int i = 0; i < 3; ++i) r[0]->end();
  CHECK(t.typed(plugin).peek("127.0.0.1") == 2);
  for (auto& request : r) request->end();
  CHECK(t.typed(plugin).peek("127.0.0.1") == 0);
  for (int i = 0; i < 1000; ++i) {            // one by one: never anything left over
    InFlight request(t, plugin);
    CHECK(request.said.passed());
    request.end();
  }
  Kit stranger;                               // refused before this plugin's turn: its log phase runs all the same
  t.stamp(stranger);
  stranger.log(plugin);
  CHECK(t.typed(plugin).peek("127.0.0.1") == 0);
}

TEST_CASE("limit-conn: whose count a request is in", "[plugins][limit-conn][key]") {
  Limited<LimitConn> t;
  Requests r;
  auto header = t.make(R"({"conn":1,"burst":0,"default_conn_delay":0.1,"key":"http_u"})");
  CHECK(enter(t, header, r, 2, test::with("U", "a")) == "0 x503");
  CHECK(enter(t, header, r, 2, test::with("U", "")) == "0 x503");
  CHECK(enter(t, header, r, 2, test::from("10.0.0.7")) == "0 x503");
  auto pair = t.make(R"({"conn":1,"burst":0,"default_conn_delay":0.1,"key":"$http_a $http_b","key_type":"var_combination"})", "/apisix/routes/2");
  CHECK(enter(t, pair, r, 2, test::with("A", "1")) == "0 x503");
  CHECK(enter(t, pair, r, 2, test::from("10.0.0.7")) == "0 x503");
  CHECK(enter(t, pair, r, 2, test::from("10.0.0.8")) == "0 x503");
  // One count for all routes of a service, another for the same plugin elsewhere or changed.
  const char* conf = R"({"conn":1,"burst":0,"default_conn_delay":0.1,"key":"remote_addr"})";
  CHECK(enter(t, t.make(conf, "/apisix/services/1"), r, 1) == "0");
  CHECK(enter(t, t.make(conf, "/apisix/services/1"), r, 1) == "x503");
  CHECK(enter(t, t.make(conf, "/apisix/global_rules/1"), r, 1) == "0");
  CHECK(enter(t, t.make(conf, "/apisix/services/1", "2"), r, 1) == "0");
}

TEST_CASE("limit-conn: a request gives back where it has taken, whatever was configured since", "[plugins][limit-conn]") {
  Limited<LimitConn> t;
  const char* conf = R"({"conn":1,"burst":0,"default_conn_delay":0.1,"key":"remote_addr"})";
  auto before = t.make(conf, "/apisix/routes/1", "1");
  auto after = t.make(conf, "/apisix/routes/1", "2");
  Requests r;
  CHECK(enter(t, before, r, 1) == "0");
  CHECK(enter(t, after, r, 2) == "0 x503");
  r[0]->end();
  CHECK(t.typed(before).peek("127.0.0.1") == 0);
  CHECK(t.typed(after).peek("127.0.0.1") == 1);
}

TEST_CASE("limit-conn: several rules are asked in turn", "[plugins][limit-conn][rules]") {
  Limited<LimitConn> t;
  auto plugin = t.make(R"({"default_conn_delay":0.1,"rules":[{"conn":1,"burst":0,"key":"${http_user}"},
                                                             {"conn":2,"burst":0,"key":"${remote_addr}"}]})");
  const auto user = [](const char* name, const char* address) {
    Asking a = test::with("User", name);
    a.from = address;
    return a;
  };
  Requests r;
  CHECK(enter(t, plugin, r, 1, user("a", "10.0.0.1")) == "0");
  CHECK(enter(t, plugin, r, 1, user("b", "10.0.0.1")) == "0");
  CHECK(enter(t, plugin, r, 1, user("c", "10.0.0.1")) == "x503");   // by the second rule, holding the first's place
  CHECK(t.typed(plugin).peek("c") == 1);
  CHECK(enter(t, plugin, r, 1, user("c", "10.0.0.2")) == "x503");
  r[2]->end();
  CHECK(t.typed(plugin).peek("c") == 0);
  CHECK(enter(t, plugin, r, 1, user("c", "10.0.0.2")) == "0");
  CHECK(enter(t, plugin, r, 2, test::from("10.0.0.3")) == "0 0");   // the second rule only
  CHECK(enter(t, plugin, r, 1, test::from("10.0.0.3")) == "x503");
  for (auto& request : r) request->end();
  for (const char* key : {"a", "b", "c", "10.0.0.1", "10.0.0.2", "10.0.0.3"}) CHECK(t.typed(plugin).peek(key) == 0);
}

TEST_CASE("limit-conn: delays of several rules add up", "[plugins][limit-conn][rules]") {
  Limited<LimitConn> t;
  auto plugin = t.make(R"({"default_conn_delay":0.1,"rules":[{"conn":1,"burst":5,"key":"$http_user"},
                                                             {"conn":1,"burst":5,"key":"$remote_addr"}]})");
  Requests r;
  CHECK(enter(t, plugin, r, 3, test::with("User", "a")) == "0 200 400");
}

TEST_CASE("limit-conn: a rule that cannot be resolved is skipped", "[plugins][limit-conn][rules]") {
  Limited<LimitConn> t;
  Requests r;
  auto plugin = t.make(R"({"default_conn_delay":0.1,"rules":[{"conn":"${http_c}","burst":0,"key":"$uri"},
                                                             {"conn":1,"burst":0,"key":"$http_user"}]})");
  CHECK(enter(t, plugin, r, 2, test::with("User", "a")) == "0 x503");
  CHECK(enter(t, plugin, r, 3, test::with("C", "2")) == "0 0 x503");
  CHECK(enter(t, plugin, r, 1, test::with("C", "none")) == "x500");   // no rule is left
  CHECK(r.back()->said.body == "(none)");
  auto lenient = t.make(R"({"default_conn_delay":0.1,"allow_degradation":true,"rules":[{"conn":1,"burst":0,"key":"$http_user"}]})",
                        "/apisix/routes/2");
  CHECK(enter(t, lenient, r, 3) == "0 0 0");
  CHECK(enter(t, lenient, r, 2, test::with("User", "a")) == "0 x503");
  auto literal = t.make(R"({"default_conn_delay":0.1,"rules":[{"conn":1,"burst":0,"key":"everybody"}]})", "/apisix/routes/3");
  CHECK(enter(t, literal, r, 1) == "x500");
}

TEST_CASE("limit-conn resolves conn and burst per request", "[plugins][limit-conn][template]") {
  Limited<LimitConn> t;
  Requests r;
  auto plugin = t.make(R"({"conn":"${http_c ?? 2}","burst":"${http_b ?? 0}","default_conn_delay":0.1,"key":"uri"})");
  CHECK(enter(t, plugin, r, 3) == "0 0 x503");
  CHECK(enter(t, plugin, r, 1, test::with("C", "3")) == "0");
  CHECK(enter(t, plugin, r, 1, test::with("B", "2")) == "100");
  for (const char* bad : {"0", "1.5", "-1", "x", "", "9007199254740992"})
    CHECK(enter(t, plugin, r, 1, test::with("C", bad)) == "x500");
  for (const char* bad : {"1.5", "-1", "x", "", "9007199254740992"})
    CHECK(enter(t, plugin, r, 1, test::with("B", bad)) == "x500");
  auto lenient = t.make(R"({"conn":"${http_c}","burst":0,"default_conn_delay":0.1,"key":"uri","allow_degradation":true})", "/apisix/routes/2");
  CHECK(enter(t, lenient, r, 3, test::with("C", "1.5")) == "0 0 0");
  CHECK(enter(t, lenient, r, 2, test::with("C", "1")) == "0 x503");
}

TEST_CASE("limit-conn: what a dead worker held comes back, and nothing else", "[plugins][limit-conn]") {
  Limited<LimitConn> t;
  const char* conf = R"({"conn":4,"burst":0,"default_conn_delay":0.1,"key":"remote_addr"})";
  auto first = t.make(conf);
  const auto slot = t.catalog->claim_worker(shm::WorkerRole::worker, 1, 1).value();
  t.host.worker_slot = static_cast<int>(slot);
  auto second = t.make(conf);
  Requests living, dead;
  CHECK(enter(t, first, living, 1) == "0");
  CHECK(enter(t, second, dead, 3) == "0 0 0");
  CHECK(enter(t, first, living, 1) == "x503");
  CHECK(t.catalog->settle_worker(slot) == 3);
  CHECK(t.typed(first).peek("127.0.0.1") == 1);
  CHECK(enter(t, first, living, 4) == "0 0 0 x503");
}

TEST_CASE("limit-conn without a place to note what it holds cannot decide", "[plugins][limit-conn]") {
  Limited<LimitConn> t;
  t.host.worker_slot = -1;
  Requests r;
  CHECK(enter(t, t.make(R"({"conn":1,"burst":0,"default_conn_delay":0.1,"key":"uri"})"), r, 1) == "x500");
  CHECK(enter(t, t.make(R"({"conn":1,"burst":0,"default_conn_delay":0.1,"key":"uri","allow_degradation":true})"), r, 2) == "0 0");
}

TEST_CASE("limit-conn looks without counting", "[plugins][limit-conn][peek]") {
  Limited<LimitConn> t;
  auto plugin = t.make(R"({"conn":1,"burst":1,"default_conn_delay":0.1,"key":"remote_addr"})");
  Requests r;
  for (int i = 0; i < 3; ++i) CHECK(t.typed(plugin).peek("127.0.0.1") == 0);
  CHECK(enter(t, plugin, r, 1) == "0");
  for (int i = 0; i < 3; ++i) CHECK(t.typed(plugin).peek("127.0.0.1") == 1);
  CHECK(enter(t, plugin, r, 2) == "100 x503");
  CHECK(t.typed(plugin).peek("127.0.0.1") == 2);
  CHECK(t.typed(plugin).peek("127.0.0.2") == 0);
}

TEST_CASE("limit-conn: a trial run counts, refuses nobody and says what it would have done", "[plugins][limit-conn]") {
  Limited<LimitConn> t;
  auto plugin = t.make(R"({"conn":1,"burst":1,"default_conn_delay":0.1,"key":"remote_addr","dry_run":true})");
  Requests r;
  CHECK(enter(t, plugin, r, 3) == "0 0 0");
  CHECK(r[1]->said.verdict == "admitted");
  CHECK(r[2]->said.verdict == "would_refuse");
  CHECK(t.typed(plugin).peek("127.0.0.1") == 3);
  for (auto& request : r) request->end();
  CHECK(t.typed(plugin).peek("127.0.0.1") == 0);
}

TEST_CASE("limit-conn: who is let past is not counted", "[plugins][limit-conn]") {
  Limited<LimitConn> t;
  auto plugin = t.make(R"({"conn":1,"burst":0,"default_conn_delay":0.1,"key":"uri","bypass":{"cidrs":["10.0.0.0/8"]}})");
  Requests r;
  CHECK(enter(t, plugin, r, 3, test::from("10.9.9.9")) == "0 0 0");
  CHECK(enter(t, plugin, r, 2) == "0 x503");
}

TEST_CASE("limit-conn refuses wrong configurations", "[plugins][limit-conn][schema]") {
  CHECK(compile_error(R"({"conn":1,"burst":0,"key":"uri"})").find("default_conn_delay") != std::string::npos);
  CHECK(compile_error(R"({"conn":1,"burst":0,"default_conn_delay":1,"key":"uri","rejected_code":100})") ==
        "property \"rejected_code\" validation failed: expected 100 to be at least 200");
  CHECK(compile_error(R"({"conn":1.5,"burst":0,"default_conn_delay":1,"key":"uri"})") ==
        "property \"conn\" validation failed: value should match only one schema, but matches none");
  CHECK(compile_error(R"({"default_conn_delay":1,"rules":[{"conn":1,"key":"$uri"}]})").find("property \"burst\" is required") !=
        std::string::npos);
  CHECK(compile_error(R"({"conn":1,"burst":0,"default_conn_delay":1,"key":"uri","policy":"redis","redis_host":"127.0.0.1"})") ==
        "policy redis is not available in this build");
}

TEST_CASE("limit-conn survives numbers at the edge", "[plugins][limit-conn]") {
  Limited<LimitConn> t;
  Requests r;
  auto huge = t.make(R"({"conn":9223372036854775807,"burst":9223372036854775807,"default_conn_delay":1e300,"key":"uri"})");
  CHECK(enter(t, huge, r, 2) == "0 0");
  auto patient = t.make(R"({"conn":1,"burst":5,"default_conn_delay":1e300,"key":"uri"})", "/apisix/routes/2");
  enter(t, patient, r, 2);
  CHECK(r.back()->said.delay == nanoseconds::max());
}

TEST_CASE("limit-conn agrees with a list of who is in flight on random schedules", "[plugins][limit-conn][model]") {
  struct Known {
    std::unique_ptr<InFlight> request;
    std::size_t worker;
    int key;
  };
  Limited<LimitConn> t;
  const char* conf = R"({"conn":3,"burst":4,"default_conn_delay":0.25,"key":"http_k"})";
  std::vector<std::uint32_t> slots;
  std::vector<sdk::PluginInstance> workers;
  const auto start = [&](unsigned number) {
    slots[number] = t.catalog->claim_worker(shm::WorkerRole::worker, 1, number).value();
    t.host.worker_slot = static_cast<int>(slots[number]);
    workers[number] = t.make(conf);
  };
  slots.resize(3);
  workers.resize(3);
  for (unsigned n = 0; n < 3; ++n) start(n);
  std::vector<Known> list;
  std::mt19937_64 random(20260101);
  int refused = 0, delayed = 0, deaths = 0, wrong = 0;
  for (int step = 0; step < 120'000 && wrong < 5; ++step) {
    t.pass(nanoseconds(random() % 1'000'000));
    const auto worker = static_cast<std::size_t>(random() % 3);
    const auto what = random() % 1000;
    if (what == 0) {   // killed: its log phases never run
      std::size_t held = 0;
      for (auto& k : list) held += k.worker == worker;
      const auto returned = t.catalog->settle_worker(slots[worker]);
      std::erase_if(list, [&](const Known& k) { return k.worker == worker; });
      start(static_cast<unsigned>(worker));
      ++deaths;
      wrong += returned != held;
      CHECK(returned == held);
    } else if (what < 450 && !list.empty()) {
      const auto which = static_cast<std::ptrdiff_t>(random() % list.size());
      list[static_cast<std::size_t>(which)].request->end();
      list.erase(list.begin() + which);
    } else {
      const auto key = static_cast<int>(random() % 6);
      std::uint64_t n = 1;
      for (auto& k : list) n += k.key == key;
      auto request = std::make_unique<InFlight>(t, workers[worker], test::with("K", std::to_string(key)));
      const bool admitted = n <= 7;
      const auto owed = admitted && n > 3 ? static_cast<std::int64_t>((n - 1) / 3) * 250ms : 0ms;
      refused += !admitted;
      delayed += owed > 0ms;
      if (request->said.passed() != admitted || request->said.delay != owed ||
          t.typed(workers[0]).peek(std::to_string(key)) != n - !admitted) {
        ++wrong;
        FAIL_CHECK("step " << step << ": " << n << " in flight, limiter " << request->said.status);
      }
      if (admitted) list.push_back({std::move(request), worker, key});
      else request->end();
    }
  }
  CHECK(refused > 1000);
  CHECK(delayed > 1000);
  CHECK(deaths > 50);
}
