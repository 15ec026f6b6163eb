// limit-count against models that remember every request.
#include <catch2/catch.hpp>
#include <random>

#include "plugins/limit-count/limit_count.hpp"
#include "test/support/limit_kit.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using plugins::limit_count::LimitCount;
using test::Asking;
using test::Limited;
using test::Said;

namespace {

__extension__ typedef __int128 Wide;

struct Expected {
  bool admitted;
  std::uint64_t remaining;
};

// Fixed: the requests of the window that the first of them opened.
struct FixedModel {
  std::vector<std::int64_t> window;
  Expected ask(std::int64_t now, std::uint64_t count, std::uint64_t seconds) {
    if (!window.empty() && now >= window.front() + static_cast<std::int64_t>(seconds) * 1'000'000'000) window.clear();
    window.push_back(now);
    const bool admitted = window.size() <= count;
    return {admitted, admitted ? count - window.size() : 0};
  }
};

// Sliding: the times of everything that was let through; both windows are counted anew for each request.
struct SlidingModel {
  std::vector<std::int64_t> admitted;
  Expected ask(std::int64_t wall, std::uint64_t count, std::uint64_t seconds) {
    const auto width = static_cast<std::int64_t>(seconds) * 1'000'000'000;
    const std::int64_t begin = wall / width * width;
    Wide current = 0, previous = 0;
    for (const std::int64_t at : admitted) {
      current += at >= begin;
      previous += at >= begin - width && at < begin;
    }
    previous = std::min(previous, Wide{count});
    // Everything times the width, to stay in whole numbers.
    const Wide weight = previous * (begin + width - wall);
    const Wide most = Wide{count} * width;
    if (current >= count || current * width + weight >= most) return {false, 0};
    admitted.push_back(wall);
    std::erase_if(admitted, [&](std::int64_t at) { return at < begin - width; });
    const Wide rest = most - (current + 1) * width - weight;
    return {true, rest > 0 ? static_cast<std::uint64_t>(rest / width) : 0};
  }
};

struct Setup {
  const char* type;
  std::uint64_t count, seconds;
};

template <class Model>
void compare(const Setup& setup, int steps) {
  Limited<LimitCount> t;
  const std::string conf = "{\"count\":\"${http_c ?? " + std::to_string(setup.count) + "}\",\"time_window\":" +
                           std::to_string(setup.seconds) + ",\"key\":\"http_k\",\"window_type\":\"" + setup.type + "\"}";
  std::vector<sdk::PluginInstance> workers;
  workers.push_back(t.make(conf));
  t.host.worker_slot = static_cast<int>(t.catalog->claim_worker(shm::WorkerRole::worker, 1, 1).value());
  workers.push_back(t.make(conf));
  Model models[4];
  std::mt19937_64 random(setup.count * 7919 + setup.seconds);
  const std::uint64_t interval = setup.seconds * 1'000'000'000 / setup.count;
  std::int64_t clock = 0;
  int wrong = 0, refused = 0, helped = 0;
  for (int step = 0; step < steps && wrong < 5; ++step) {
    if (random() % 3 != 0) clock += static_cast<std::int64_t>(random() % (interval / 2 + 1));
    if (random() % 2000 == 0) clock += static_cast<std::int64_t>(random() % (5 * setup.seconds * 1'000'000'000));
    t.at(nanoseconds(clock));
    const std::size_t key = random() % 4;
    const std::string name = std::to_string(key);
    const std::uint64_t count = random() % 16 == 0 ? 1 + random() % (2 * setup.count) : setup.count;   // a quota of its own
    const sdk::PluginInstance& worker = workers[random() % 2];
    const sdk::Quota quota{count, setup.seconds};
    const auto seen = t.typed(worker).peek(name, quota, t.mono(), t.wall());
    const Said said = t.ask(worker, Asking{.headers = {{"K", name}, {"C", std::to_string(count)}}});
    const auto at = std::is_same_v<Model, FixedModel> ? to_ns(t.mono()) : t.wall().time_since_epoch().count();
    const Expected want = models[key].ask(at, count, setup.seconds);
    bool same = said.passed() == want.admitted && said.field("X-RateLimit-Remaining") == std::to_string(want.remaining) &&
                seen.admitted == want.admitted && seen.remaining == want.remaining;
    const double reset = std::stod(said.field("X-RateLimit-Reset"));
    same = same && reset >= 0 && reset <= static_cast<double>(setup.seconds);
    if (!said.passed()) {
      ++refused;
      // Whoever waits as long as he is told gets through.
      const auto later = nanoseconds(std::llround(reset * 1e9) + 1);
      const bool helps = t.typed(worker).peek(name, quota, t.mono() + later, t.wall() + later).admitted;
      helped += helps;
      same = same && helps;
    }
    if (same) continue;
    ++wrong;
    FAIL_CHECK("step " << step << ", clock " << clock << ", count " << count << ": model " << want.admitted << " "
                       << want.remaining << ", limiter " << said.status << " " << said.field("X-RateLimit-Remaining")
                       << " reset " << reset << ", seen " << seen.admitted << " " << seen.remaining);
  }
  CHECK(refused > steps / 50);
}

}  // namespace

TEST_CASE("limit-count, fixed, agrees with a list of the window's requests", "[plugins][limit-count][fixed][model]") {
  compare<FixedModel>(GENERATE(Setup{"fixed", 1, 1}, Setup{"fixed", 10, 60}, Setup{"fixed", 100, 10}), 100'000);
}

TEST_CASE("limit-count, sliding, agrees with a count of all requests", "[plugins][limit-count][sliding][model]") {
  compare<SlidingModel>(GENERATE(Setup{"sliding", 1, 1}, Setup{"sliding", 10, 60}, Setup{"sliding", 100, 10}), 100'000);
}
