// ns per operation of shared memory: alone, and with a second process on the same record.
//
// Prints the median of kRounds rounds. Pin it (taskset) for figures that repeat; with two CPUs the hammering process
// takes the other one. Results belong in perf/RESULTS.md with the machine they come from.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "shm/catalog.hpp"

using namespace sluice;
using namespace sluice::shm;

namespace {

constexpr int kRounds = 9;

struct Bucket {
  std::int64_t excess = 0;
  std::int64_t last = 0;
};

template <class F>
double measure(int n, F&& op) {
  std::array<double, kRounds> ns{};
  for (double& round : ns) {
    const TimePoint start = monotonic_now();
    for (int i = 0; i < n; ++i) op(i);
    round = static_cast<double>((monotonic_now() - start).count()) / n;
  }
  std::sort(ns.begin(), ns.end());
  return ns[kRounds / 2];
}

template <class F>
void row(const char* name, F&& op, int n = 500000) {
  const double alone = measure(n, op);
  const pid_t other = ::fork();
  if (other == 0)
    for (int i = 0;; ++i) op(i);
  const double beside = measure(n, op);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  std::printf("%-44s %8.1f %8.1f\n", name, alone, beside);
}

}  // namespace

int main() {
  auto catalog = Catalog::create({}, 8).value();
  const TimePoint now = monotonic_now();
  const OwnerId owner = catalog->owners().intern("bench|/routes/1");
  Dict<Bucket> dict(catalog->limit_req());
  const Key hot = dict.key(owner, "10.0.0.1");
  std::vector<std::string> texts;
  for (int i = 0; i < 50000; ++i) texts.push_back("10.0." + std::to_string(i));
  const auto touch = [&](const Key& key, std::string_view text, int i) {
    dict.update(key, owner, text, now, [&](Bucket& b, bool, RecordMeta& meta) noexcept {
      ++b.excess;
      b.last = i;
      meta.expires = now + seconds(60);
      meta.limit = 5;
    });
  };

  std::printf("%-44s %8s %8s\n", "ns per operation", "alone", "beside");
  volatile std::uint64_t sink = 0;
  row("key of owner and 10 bytes", [&](int) { sink = dict.key(owner, "10.0.0.123").lo; });
  row("update, one hot record", [&](int i) { touch(hot, "10.0.0.1", i); });
  row("update, refused (discard)", [&](int) {
    dict.update(hot, owner, "10.0.0.1", now, [](Bucket&, bool, RecordMeta& meta) noexcept { meta.discard(); });
  });
  std::uint32_t x = 1;
  row("key and update, 50,000 records at random", [&](int i) {
    x = x * 1664525 + 1013904223;
    const std::string& text = texts[(x >> 8) % texts.size()];
    touch(dict.key(owner, text), text, i);
  });
  row("peek", [&](int) {
    Bucket b;
    dict.peek(hot, now, b);
  });
  const SlotRef node = catalog->ewma().intern("bench|10.0.0.1:80", now);
  const auto score = [&](int i) {
    catalog->ewma().update(node, now, [i](EwmaScore& s, bool) noexcept { s = {s.score + 1, i}; });
  };
  score(1);
  row("EWMA read without lock", [&](int) {
    EwmaScore s;
    catalog->ewma().read(node, s);
  });
  row("EWMA update", score);
  row("limit-conn acquire and release", [&](int) {
    const auto got =
        catalog->limit_conn().try_acquire(hot, owner, "10.0.0.1", 1, now, [](std::uint64_t) noexcept { return true; });
    catalog->limit_conn().release(got.lease, 1);
  });
  const CellPage page = catalog->metrics().page(catalog->claim_worker(WorkerRole::worker, 1, 0).value());
  const Series series = catalog->metrics().intern(SeriesKind::histogram, "bench", 10);
  row("histogram observation", [&](int i) { page.observe(series, static_cast<std::uint32_t>(i) % 10, 0.5); });
  return 0;
}
