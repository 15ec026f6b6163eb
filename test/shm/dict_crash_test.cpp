// Several processes on one dictionary: exact sums, and deaths at every step of an update.
#include <array>

#include "shm/dict.hpp"
#include "shm_support.hpp"

using namespace sluice;
using namespace sluice::shm;
using namespace sluice::shm::test;

namespace {

// All words are equal in every state that an update leaves.
struct Value {
  std::array<std::uint64_t, 8> words{};
  bool whole() const {
    for (auto w : words)
      if (w != words[0]) return false;
    return true;
  }
};

struct Fixture : Table {
  explicit Fixture(std::uint32_t records, std::uint32_t shards = 1)
      : Table(shape_for(records, 8, shards)), dict(core), owner(owners.intern("test")) {}

  void add(const std::string& text, TimePoint now = at_ms(1)) {
    dict.update(dict.key(owner, text), owner, text, now, [&](Value& v, bool, RecordMeta& meta) noexcept {
      for (auto& w : v.words) ++w;
      meta.expires = from_ns(to_ns(now) + 1000000000);
      meta.limit = v.words[0];
    });
  }
  // Value of a record that must not be torn; 0 = absent.
  std::uint64_t count(const std::string& text) {
    Value v;
    RecordMeta meta;
    if (!dict.peek(dict.key(owner, text), at_ms(2), v, &meta)) return 0;
    CHECK(v.whole());
    CHECK(meta.limit == v.words[0]);
    return v.words[0];
  }

  Dict<Value> dict;
  OwnerId owner;
};

}  // namespace

TEST_CASE("updates of several processes are exact", "[shm][dict][fork][lock]") {
  Fixture f(64);
  constexpr int kChildren = 4, kEach = 100000;
  std::vector<pid_t> children;
  for (int c = 0; c < kChildren; ++c)
    children.push_back(start_child([&] {
      for (int i = 0; i < kEach; ++i) f.add("counter");
    }));
  for (pid_t pid : children) CHECK(wait_for(pid) == 0);
  CHECK(f.count("counter") == std::uint64_t{kChildren} * kEach);
}

TEST_CASE("several processes on many keys of a full dictionary keep it sound", "[shm][dict][fork]") {
#ifndef SLUICE_MUTATION_NO_SHARD_LOCK
  Fixture f(128, 4);
  std::vector<pid_t> children;
  for (unsigned c = 0; c < 4; ++c)
    children.push_back(start_child([&, c] {
      unsigned x = c;
      for (int i = 0; i < 30000; ++i) {
        x = x * 1664525 + 1013904223;
        const std::string text = std::to_string((x >> 8) % 400);
        if (x >> 28 == 0)
          f.dict.erase(f.dict.key(f.owner, text));
        else
          f.add(text);
      }
    }));
  for (pid_t pid : children) CHECK(wait_for(pid) == 0);
  CHECK(audit(f.core) == "");
  CHECK(f.dict.stats().evictions > 0);
#endif
}

TEST_CASE("a process killed at any step of an update leaves the old or the new record", "[shm][dict][rollback]") {
  Fixture f(4);
  for (const char* text : {"a", "b", "c"}) f.add(text);
  std::uint64_t before = 0;
  std::int64_t kept = 0, done = 0;
  const auto steps = at_every_step([&] { before = f.count("a"); }, [&] { f.add("a"); },
                                   [&](std::int64_t step) {
                                     INFO("step " << step);
                                     const std::uint64_t after = f.count("a");
                                     REQUIRE((after == before || after == before + 1));
                                     ++(after == before ? kept : done);
                                     CHECK(audit(f.core) == "");
                                     f.add("b");  // "a" has to move in the LRU chain next time
                                   });
  CHECK(steps > 40);
  CHECK(kept > 40);
  CHECK(f.dict.stats().recoveries >= static_cast<std::uint64_t>(kept));
  CHECK(f.dict.stats().cleared == 0);
}

TEST_CASE("a process killed at any step of an insertion or eviction leaves a sound table", "[shm][dict][rollback]") {
  Fixture f(4);
  int n = 0;
  const auto steps = at_every_step(
      [&] {
        // Full each time, so that the insertion has to evict first.
        f.add("keep");
        for (int i = 0; f.dict.stats().entries < 4; ++i) f.add("old" + std::to_string(n * 10 + i));
        f.add("keep");
      },
      [&] { f.add("new" + std::to_string(n)); },
      [&](std::int64_t step) {
        INFO("step " << step);
        CHECK(audit(f.core) == "");
        CHECK(f.count("new" + std::to_string(n)) <= 1);
        CHECK(f.count("keep") >= 1);
        ++n;
      });
  CHECK(steps > 30);
  CHECK(f.dict.stats().cleared == 0);
  CHECK(f.dict.stats().entries <= 4);
}

TEST_CASE("a process killed at any step of an erase leaves the record or none", "[shm][dict][rollback]") {
  Fixture f(8);
  const auto steps = at_every_step(
      [&] {
        for (const char* text : {"a", "b", "c"}) f.add(text);
      },
      [&] { f.dict.erase(f.dict.key(f.owner, "b")); },
      [&](std::int64_t step) {
        INFO("step " << step);
        CHECK(audit(f.core) == "");
        f.count("b");
        CHECK(f.count("a") > 0);
      });
  CHECK(steps > 10);
}

TEST_CASE("a process killed while it repairs leaves the repair to the next one", "[shm][dict][rollback]") {
  Fixture f(4);
  for (const char* text : {"a", "b", "c"}) f.add(text);
  for (std::int64_t death : {5, 17, 31, 40}) {
    std::uint64_t before = 0;
    at_every_step(
        [&] {
          f.add("b");
          before = f.count("a");
          REQUIRE(die_at(death, [&] { f.add("a"); }));
        },
        [&] { f.count("c"); },
        [&](std::int64_t step) {
          INFO("death at " << death << ", repair dies at " << step);
          CHECK(f.count("a") == before);
          CHECK(audit(f.core) == "");
        });
  }
}

TEST_CASE("sums stay exact while processes are killed at random instants", "[shm][dict][fork][rollback]") {
  Fixture f(64, 2);
  // Each child adds to its own record and tells after every update how far it got; it may die between the two.
  auto told = Region::create("told", 2 * kPage).value();
  Word* progress = told.at<Word>(kPage);
  std::uint64_t deaths = 0;
  for (int round = 0; round < 30; ++round) {
    std::array<pid_t, 3> children{};
    for (std::size_t c = 0; c < children.size(); ++c)
      children[c] = start_child([&, c] {
        for (;;) {
          f.add("own" + std::to_string(c));
          add_word(progress[c], 1);
          f.add("shared");
        }
      });
    const Word target = load_word(progress[0]) + 50 + 37 * static_cast<Word>(round);
    while (load_word(progress[0]) < target) ::sched_yield();
    for (pid_t pid : children) ::kill(pid, SIGKILL);
    for (pid_t pid : children) wait_for(pid);
    deaths += children.size();
    REQUIRE(audit(f.core) == "");
    for (std::size_t c = 0; c < children.size(); ++c) {
      const std::uint64_t sum = f.count("own" + std::to_string(c));
      CHECK(sum >= progress[c]);
      CHECK(sum <= progress[c] + static_cast<std::uint64_t>(round) + 1);
    }
  }
  CHECK(deaths == 90);
  CHECK(f.dict.stats().cleared == 0);
}
