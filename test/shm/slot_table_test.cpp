// SlotTable and the sequence-counter reads: pinned records, references that outlive their slot, no torn reads.
#include "shm/slot_table.hpp"

#include <array>

#include "shm_support.hpp"

using namespace sluice;
using namespace sluice::shm;
using namespace sluice::shm::test;

namespace {

struct Wide {
  std::array<std::uint64_t, 8> words{};
  bool whole() const {
    for (auto w : words)
      if (w != words[0]) return false;
    return true;
  }
};

struct Fixture : Table {
  explicit Fixture(std::uint32_t slots) : Table(shape_for(slots, 8), false), table(core) {}

  bool set(const SlotRef& ref, std::uint64_t n, TimePoint now = at_ms(1)) {
    return table.update(ref, now, [n](Wide& w, bool) noexcept { w.words.fill(n); });
  }
  SlotTable<Wide> table;
};

constexpr std::int64_t kIdleMs = std::chrono::milliseconds(SlotCore::kIdle).count();

}  // namespace

TEST_CASE("a slot is the same for everybody who names it", "[shm][slot]") {
  Fixture f(8);
  const SlotRef a = f.table.intern("a", at_ms(1));
  CHECK(a);
  CHECK(f.table.intern("a", at_ms(2)) == a);
  CHECK(f.table.find("a") == a);
  CHECK_FALSE(f.table.find("b"));
  CHECK_FALSE(f.table.intern("b", at_ms(1)) == a);
  Wide w;
  CHECK(f.table.read(a, w) == ReadState::absent);
  CHECK(f.set(a, 3));
  CHECK(f.table.read(a, w) == ReadState::ok);
  CHECK(w.words[7] == 3);
  CHECK(f.table.update(a, at_ms(2), [](Wide& v, bool fresh) noexcept { v.words.fill(fresh ? 100 : v.words[0] + 1); }));
  CHECK(f.table.read(a, w) == ReadState::ok);
  CHECK(w.words[0] == 4);
  CHECK(f.core.stats().pinned == 2);
  CHECK(audit(f.core) == "");
}

TEST_CASE("slots are never evicted while they are in use; then the idle go", "[shm][slot]") {
  Fixture f(3);
  const SlotRef a = f.table.intern("a", at_ms(1)), b = f.table.intern("b", at_ms(1)), c = f.table.intern("c", at_ms(1));
  f.set(a, 1, at_ms(1));
  f.set(b, 2, at_ms(kIdleMs));
  f.set(c, 3, at_ms(kIdleMs));
  CHECK_FALSE(f.table.intern("d", at_ms(kIdleMs)));  // nobody has been idle for long enough
  CHECK(f.table.stats().refused == 1);

  const SlotRef d = f.table.intern("d", at_ms(kIdleMs + 10));
  REQUIRE(d);
  CHECK(f.table.stats().evictions == 1);
  Wide w;
  CHECK(f.table.read(a, w) == ReadState::absent);
  CHECK_FALSE(f.set(a, 9));
  CHECK(f.table.read(d, w) == ReadState::absent);
  CHECK(f.table.read(b, w) == ReadState::ok);
  CHECK(w.words[0] == 2);
  CHECK(audit(f.core) == "");
}

TEST_CASE("interning again keeps a slot from being idle", "[shm][slot]") {
  Fixture f(1);
  f.table.intern("a", at_ms(1));
  f.table.intern("a", at_ms(kIdleMs));
  CHECK_FALSE(f.table.intern("b", at_ms(kIdleMs + 10)));
}

TEST_CASE("an empty reference reads absent and takes nothing", "[shm][slot]") {
  Fixture f(1);
  const SlotRef none;
  Wide w;
  CHECK(f.table.read(none, w) == ReadState::absent);
  CHECK(f.table.read_locked(none, w) == ReadState::absent);
  CHECK_FALSE(f.set(none, 1));
  CHECK_FALSE(f.table.forget(none));
}

TEST_CASE("a forgotten slot reads absent, and its place is used again", "[shm][slot]") {
  Fixture f(1);
  const SlotRef a = f.table.intern("a", at_ms(1));
  f.set(a, 1);
  CHECK(f.table.forget(a));
  CHECK_FALSE(f.table.forget(a));
  Wide w;
  CHECK(f.table.read(a, w) == ReadState::absent);
  const SlotRef b = f.table.intern("b", at_ms(1));
  CHECK(b.slot == a.slot);
  CHECK(f.table.read(b, w) == ReadState::absent);
  CHECK(f.table.read(a, w) == ReadState::absent);
}

TEST_CASE("inspection lists slots that were updated", "[shm][slot]") {
  Fixture f(8);
  f.table.intern("silent", at_ms(1));
  f.set(f.table.intern("loud", at_ms(1)), 5);
  DictCore::Cursor cursor;
  std::vector<std::string> seen;
  f.table.for_each_some(cursor, [&](std::string_view text, const Wide& w) {
    seen.emplace_back(text);
    CHECK(w.words[0] == 5);
  });
  CHECK(seen == std::vector<std::string>{"loud"});
}

TEST_CASE("reads without the lock are never torn by a writer in another process", "[shm][seqlock][fork]") {
  Fixture f(4);
  const SlotRef a = f.table.intern("a", at_ms(1));
  f.set(a, 1);
  const pid_t writer = start_child([&] {
    for (std::uint64_t n = 2;; ++n) f.set(a, n);
  });
  std::uint64_t ok = 0, busy = 0, changes = 0, last = 0;
  while (changes < 1000) {
    Wide w;
    if (f.table.read(a, w) != ReadState::ok) {
      ++busy;
      continue;
    }
    ++ok;
    if (!w.whole()) break;
    CHECK(w.whole());
    changes += w.words[0] != last;
    if (w.words[0] < last) break;
    last = w.words[0];
  }
  ::kill(writer, SIGKILL);
  wait_for(writer);
  CHECK(changes >= 1000);
  CHECK(ok > 0);
}

TEST_CASE("a slot that changes hands is never read under the wrong name", "[shm][seqlock][fork]") {
  Fixture f(1);
  const SlotRef a = f.table.intern("a", at_ms(1));
  f.set(a, 1);
  const pid_t writer = start_child([&] {
    for (SlotRef mine = a, other;; std::swap(mine, other)) {
      f.table.forget(mine);
      other = f.table.intern(mine == a ? "b" : "a", at_ms(1));
      f.set(other, other == a ? 1 : 2);
    }
  });
  // Many reads race with the writer when it has a processor of its own; that alone shows neither state on a busy machine,
  // where the writer may stand still for all of them. So the reader goes on, making room, until it has seen both.
  int seen = 0, absent = 0;
  bool whole = true, own = true;
  for (std::int64_t reads = 0; whole && own && (reads < 300000 || seen == 0 || absent == 0); ++reads) {
    Wide w;
    const ReadState state = f.table.read(a, w);
    absent += state == ReadState::absent;
    if (state == ReadState::ok) {
      ++seen;
      whole = w.whole();
      own = w.words[0] == 1;
    }
    if (reads >= 300000) ::sched_yield();
  }
  ::kill(writer, SIGKILL);
  wait_for(writer);
  CHECK(whole);
  CHECK(own);
  CHECK(seen > 0);
}

TEST_CASE("a writer that dies makes readers busy until the lock is taken, and leaves old or new",
          "[shm][seqlock][rollback]") {
  Fixture f(4);
  const SlotRef a = f.table.intern("a", at_ms(1));
  std::uint64_t n = 1;
  int busy = 0;
  at_every_step([&] { f.set(a, ++n); }, [&] { f.set(a, n + 1, at_ms(static_cast<std::int64_t>(n))); },
                [&](std::int64_t step) {
                  INFO("step " << step);
                  Wide w;
                  const ReadState state = f.table.read(a, w);
                  busy += state == ReadState::busy;
                  if (state == ReadState::ok) CHECK(w.whole());
                  REQUIRE(f.table.read_locked(a, w) == ReadState::ok);
                  CHECK(w.whole());
                  CHECK((w.words[0] == n || w.words[0] == n + 1));
                  CHECK(f.table.read(a, w) == ReadState::ok);
                  CHECK(audit(f.core) == "");
                  ++n;
                });
  CHECK(busy > 10);
}
