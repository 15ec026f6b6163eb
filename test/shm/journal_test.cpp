#include "shm/journal.hpp"

#include "shm_support.hpp"

using namespace sluice::shm;
using namespace sluice::shm::test;

namespace {
struct Shared {
  Journal journal;
  Word seq;
  Word words[8];
};

struct Fixture {
  Region region = Region::create("journal", 2 * kPage).value();
  Shared& s = *region.at<Shared>(kPage);

  Transaction begin() { return Transaction(s.journal, region.data()); }
  void fill(Word v) {
    for (Word& w : s.words) w = v;
  }
  bool all(Word v) const {
    for (const Word& w : s.words)
      if (w != v) return false;
    return true;
  }
};
}  // namespace

TEST_CASE("a committed transaction stays, an abandoned one is undone", "[shm][journal]") {
  Fixture f;
  f.fill(1);
  {
    auto tx = f.begin();
    for (Word& w : f.s.words) tx.set(w, 2);
    tx.commit();
  }
  CHECK(f.all(2));
  CHECK_FALSE(f.s.journal.roll_back(f.region.data()));
#ifndef SLUICE_MUTATION_NO_ROLLBACK
  {
    auto tx = f.begin();
    tx.set(f.s.words[3], 9);
    tx.set(f.s.words[3], 10);
    tx.set(f.s.words[5], 11);
  }
  CHECK(f.all(2));
  CHECK(f.s.journal.count == 0);
#endif
}

TEST_CASE("half words keep their other half", "[shm][journal]") {
  Fixture f;
  f.s.words[0] = pack(1, 2);
  auto* halves = reinterpret_cast<std::uint32_t*>(f.s.words);
  auto tx = f.begin();
  tx.set_half(halves[1], 7);
  CHECK(f.s.words[0] == pack(1, 7));
  tx.set_half(halves[0], 8);
  tx.commit();
  CHECK(f.s.words[0] == pack(8, 7));
}

TEST_CASE("a death at any step of a transaction leaves all old or all new", "[shm][journal][rollback]") {
  Fixture f;
  int old_states = 0, new_states = 0;
  const auto steps = at_every_step([&] { f.fill(1); },
                                   [&] {
                                     auto tx = f.begin();
                                     tx.open_seq(f.s.seq);
                                     for (Word& w : f.s.words) tx.set(w, 2);
                                     tx.commit();
                                   },
                                   [&](std::int64_t step) {
                                     INFO("step " << step);
                                     f.s.journal.roll_back(f.region.data());
                                     REQUIRE((f.all(1) || f.all(2)));
                                     ++(f.all(1) ? old_states : new_states);
                                     CHECK(f.s.seq % 2 == 0);
                                     CHECK(f.s.journal.count == 0);
                                     CHECK(f.s.journal.open_seq == 0);
                                   });
  CHECK(steps == 2 + 3 * 8 + 3);
  CHECK(old_states == 2 + 3 * 8);
  CHECK(new_states == 3);
}

TEST_CASE("a roll-back that dies can be run again", "[shm][journal][rollback]") {
  Fixture f;
  // The first child dies late in its transaction, the second at each step of undoing it.
  const auto steps = at_every_step(
      [&] {
        f.fill(1);
        REQUIRE(die_at(2 + 3 * 8, [&] {
          auto tx = f.begin();
          tx.open_seq(f.s.seq);
          for (Word& w : f.s.words) tx.set(w, 2);
          tx.commit();
        }));
      },
      [&] { f.s.journal.roll_back(f.region.data()); },
      [&](std::int64_t step) {
        INFO("step " << step);
        f.s.journal.roll_back(f.region.data());
        CHECK(f.all(1));
        CHECK(f.s.seq % 2 == 0);
        CHECK(f.s.journal.open_seq == 0);
      });
  CHECK(steps >= 8);
}

TEST_CASE("a sequence never returns to an old value", "[shm][journal]") {
  Fixture f;
  Word last = f.s.seq;
  for (std::int64_t step = 1; step < 8; ++step) {
    die_at(step, [&] {
      auto tx = f.begin();
      tx.open_seq(f.s.seq);
      tx.set(f.s.words[0], f.s.words[0] + 1);
      tx.commit();
    });
    const bool moved = f.s.seq != last;
    f.s.journal.roll_back(f.region.data());
    CHECK(f.s.seq % 2 == 0);
    if (moved) CHECK(f.s.seq > last);
    last = f.s.seq;
  }
}
