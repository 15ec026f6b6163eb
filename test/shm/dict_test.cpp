#include "shm/dict.hpp"

#include <map>
#include <random>

#include "shm_support.hpp"

using namespace sluice;
using namespace sluice::shm;
using namespace sluice::shm::test;

namespace {

struct Value {
  std::uint64_t n = 0;
  std::int64_t mark = 7;
};

struct Fixture : Table {
  explicit Fixture(std::uint32_t records = 4, std::uint32_t shards = 1)
      : Table(shape_for(records, 2, shards)), dict(core), owner(owners.intern("limit-req|/apisix/routes/1")) {}

  bool add(const std::string& text, TimePoint now = at_ms(1), TimePoint expires = {}) {
    return dict.update(dict.key(owner, text), owner, text, now, [&](Value& v, bool, RecordMeta& meta) noexcept {
      ++v.n;
      meta.expires = expires;
    });
  }
  std::uint64_t count(const std::string& text, TimePoint now = at_ms(1)) const {
    Value v;
    return dict.peek(dict.key(owner, text), now, v) ? v.n : 0;
  }
  std::map<std::string, std::uint64_t> all(TimePoint now = at_ms(1)) const {
    std::map<std::string, std::uint64_t> m;
    dict.for_each(now, [&](const Record<Value>& r) { m[std::string(r.text)] = r.value.n; });
    return m;
  }

  Dict<Value> dict;
  OwnerId owner;
};

}  // namespace

TEST_CASE("a record starts fresh with its defaults and is then the same one", "[shm][dict]") {
  Fixture f;
  CHECK(f.add("a"));
  CHECK_FALSE(f.add("a"));
  Value v;
  RecordMeta meta;
  REQUIRE(f.dict.peek(f.dict.key(f.owner, "a"), at_ms(1), v, &meta));
  CHECK(v.n == 2);
  CHECK(v.mark == 7);
  CHECK(meta.expires == TimePoint{});
  const Stats s = f.dict.stats();
  CHECK(s.entries == 1);
  CHECK(s.hits == 1);
  CHECK(s.misses == 1);
  CHECK(audit(f.core) == "");
}

TEST_CASE("meta is kept with the record", "[shm][dict]") {
  Fixture f;
  const Key key = f.dict.key(f.owner, "k");
  f.dict.update(key, f.owner, "k", at_ms(1), [](Value&, bool fresh, RecordMeta& m) noexcept {
    if (fresh) m.limit = 100;
    m.expires = at_ms(50);
  });
  f.dict.update(key, f.owner, "k", at_ms(2), [](Value&, bool, RecordMeta& m) noexcept { ++m.limit; });
  Value v;
  RecordMeta meta;
  REQUIRE(f.dict.peek(key, at_ms(49), v, &meta));
  CHECK(meta.limit == 101);
  CHECK(meta.expires == at_ms(50));
}

TEST_CASE("a discarded update writes nothing, but the record counts as used", "[shm][dict][lru]") {
  Fixture f(2);
  f.add("a");
  f.add("b");
  f.dict.update(f.dict.key(f.owner, "a"), f.owner, "a", at_ms(1), [](Value& v, bool, RecordMeta& m) noexcept {
    v.n = 99;
    m.discard();
  });
  CHECK(f.count("a") == 1);
  f.add("c");
  CHECK(f.count("a") == 1);
  CHECK(f.count("b") == 0);
  f.dict.update(f.dict.key(f.owner, "x"), f.owner, "x", at_ms(1),
                [](Value&, bool, RecordMeta& m) noexcept { m.discard(); });
  CHECK(f.all().size() == 2);
  CHECK(f.count("x") == 0);
  CHECK(audit(f.core) == "");
}

TEST_CASE("full: the least recently used goes, and is counted", "[shm][dict][lru]") {
  Fixture f(3);
  f.add("a");
  f.add("b");
  f.add("c");
  f.add("a");
  f.add("d");
  CHECK(f.all() == std::map<std::string, std::uint64_t>{{"a", 2}, {"c", 1}, {"d", 1}});
  f.count("c");  // looking does not make it recent
  f.add("e");
  CHECK(f.all() == std::map<std::string, std::uint64_t>{{"a", 2}, {"d", 1}, {"e", 1}});
  CHECK(f.dict.stats().evictions == 2);
  CHECK(f.dict.stats().expired == 0);
  CHECK(f.dict.stats().entries == 3);
  CHECK(f.dict.stats().capacity == 3);
  CHECK(audit(f.core) == "");
}

TEST_CASE("full: an expired record goes before a living one that is older", "[shm][dict][lru]") {
  Fixture f(3);
  f.add("a", at_ms(1));
  f.add("b", at_ms(1), at_ms(10));
  f.add("c", at_ms(1));
  f.add("d", at_ms(20));
  CHECK(f.all(at_ms(20)) == std::map<std::string, std::uint64_t>{{"a", 1}, {"c", 1}, {"d", 1}});
  CHECK(f.dict.stats().expired == 1);
  CHECK(f.dict.stats().evictions == 0);
}

TEST_CASE("a record expires at its time, and starts afresh in place", "[shm][dict][expiry]") {
  Fixture f;
  f.add("a", at_ms(1), at_ms(10));
  f.add("a", at_ms(9), at_ms(10));
  CHECK(f.count("a", at_ms(9)) == 2);
  CHECK(f.count("a", at_ms(10)) == 0);
  CHECK(f.all(at_ms(10)).empty());
  CHECK(f.add("a", at_ms(10), at_ms(30)));
  CHECK(f.count("a", at_ms(10)) == 1);
  CHECK(f.dict.stats().expired == 1);
  CHECK(f.dict.stats().entries == 1);
}

TEST_CASE("erase removes one record", "[shm][dict]") {
  Fixture f;
  f.add("a");
  f.add("b");
  CHECK(f.dict.erase(f.dict.key(f.owner, "a")));
  CHECK_FALSE(f.dict.erase(f.dict.key(f.owner, "a")));
  CHECK(f.all() == std::map<std::string, std::uint64_t>{{"b", 1}});
  CHECK(f.add("a"));
  CHECK(audit(f.core) == "");
}

TEST_CASE("resetting an owner makes its records absent without touching others", "[shm][dict][owner]") {
  Fixture f;
  const OwnerId other = f.owners.intern("limit-req|/apisix/routes/2");
  f.add("a");
  f.add("b");
  f.dict.update(f.dict.key(other, "a"), other, "a", at_ms(1), [](Value& v, bool, RecordMeta&) noexcept { v.n = 5; });
  REQUIRE(f.owners.reset(f.owner));
  CHECK(f.count("a") == 0);
  Value v;
  CHECK(f.dict.peek(f.dict.key(other, "a"), at_ms(1), v));
  CHECK(v.n == 5);
  CHECK(f.add("a"));
  CHECK(f.count("a") == 1);
  int living = 0;
  f.dict.for_each(at_ms(1), [&](const Record<Value>&) { ++living; });
  CHECK(living == 2);
}

TEST_CASE("owners do not share records", "[shm][dict][owner]") {
  Fixture f;
  const OwnerId other = f.owners.intern("limit-req|/apisix/routes/2");
  CHECK_FALSE(f.dict.key(f.owner, "a") == f.dict.key(other, "a"));
}

TEST_CASE("long key texts are cut for inspection only", "[shm][dict]") {
  Fixture f;
  const std::string one = std::string(200, 'x') + "1", two = std::string(200, 'x') + "2";
  f.add(one);
  f.add(two);
  CHECK(f.dict.stats().entries == 2);
  CHECK(f.count(one) == 1);
  f.dict.for_each(at_ms(1), [&](const Record<Value>& r) {
    CHECK(r.text == std::string(f.core.text_bytes(), 'x'));
    CHECK(f.owners.text(r.owner) == "limit-req|/apisix/routes/1");
  });
}

TEST_CASE("inspection copies at most 64 slots per step and sees everything once", "[shm][dict]") {
  Fixture f(1000, 4);
  for (int i = 0; i < 500; ++i) f.add(std::to_string(i));
  DictCore::Cursor cursor;
  std::set<std::string> seen;
  bool more = true;
  while (more) {
    int n = 0;
    more = f.dict.for_each_some(cursor, at_ms(1), [&](const Record<Value>& r) {
      ++n;
      CHECK(seen.insert(std::string(r.text)).second);
    });
    CHECK(n <= 64);
  }
  CHECK(seen.size() == 500);
}

TEST_CASE("keys that fall into one bucket do not mix", "[shm][dict]") {
  Fixture f(64);
  // Keys with equal low bits land in one bucket whatever the seed is.
  for (std::uint64_t i = 0; i < 40; ++i) {
    f.dict.update(Key{i, 0}, f.owner, "", at_ms(1), [&](Value& v, bool, RecordMeta&) noexcept { v.n = i; });
    f.dict.update(Key{0, (i + 1) << 32}, f.owner, "", at_ms(1),
                  [&](Value& v, bool, RecordMeta&) noexcept { v.n = 100 + i; });
    if (i % 3 == 0) f.dict.erase(Key{i / 2, 0});
  }
  CHECK(audit(f.core) == "");
  Value v;
  for (std::uint64_t i = 21; i < 40; ++i) {
    REQUIRE(f.dict.peek(Key{i, 0}, at_ms(1), v));
    CHECK(v.n == i);
  }
}

TEST_CASE("shrinking evicts lazily, growing gives room in place", "[shm][dict][resize]") {
  Fixture f(64);
  const std::uint64_t per_record = 128 + 8;
  for (int i = 0; i < 64; ++i) f.add(std::to_string(i));
  REQUIRE(f.core.resize(f.region, 16 * per_record).has_value());
  CHECK(f.dict.stats().entries == 64);
  for (int i = 0; i < 200; ++i) f.add("n" + std::to_string(i));
  CHECK(f.dict.stats().entries == 16);
  CHECK(audit(f.core) == "");
  REQUIRE(f.core.resize(f.region, 400 * per_record).has_value());
  for (int i = 0; i < 400; ++i) f.add("m" + std::to_string(i));
  CHECK(f.dict.stats().entries == 400);
  CHECK(f.count("m0") == 1);
  CHECK(audit(f.core) == "");
  CHECK(f.core.resize(f.region, 100000 * per_record).error().code == Errc::too_large);
}

TEST_CASE("a second view by descriptor works on the same records", "[shm][dict]") {
  Fixture f;
  f.add("a");
  auto region = Region::attach(::dup(f.region.fd())).value();
  OwnerTable owners(region, f.owners_at);
  DictCore core(region, f.core_at, &owners);
  Dict<Value> dict(core);
  const OwnerId same = owners.intern("limit-req|/apisix/routes/1");
  CHECK(same == f.owner);
  dict.update(dict.key(same, "a"), same, "a", at_ms(2), [](Value& v, bool fresh, RecordMeta&) noexcept {
    if (!fresh) v.n += 10;
  });
  CHECK(f.count("a") == 11);
}

TEST_CASE("random operations agree with a plain map", "[shm][dict]") {
  Fixture f(2000, 4);
  std::mt19937 random(42);
  std::map<std::string, std::uint64_t> model;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = std::to_string(random() % 300);
    if (random() % 5 == 0) {
      CHECK(f.dict.erase(f.dict.key(f.owner, text)) == (model.erase(text) == 1));
    } else {
      CHECK(f.add(text) == !model.contains(text));
      ++model[text];
    }
  }
  CHECK(f.all() == model);
  CHECK(audit(f.core) == "");
}

TEST_CASE("a shard that does not pass its check after a death is emptied, counted and usable",
          "[shm][dict][rollback]") {
  Fixture f(16);
  for (int i = 0; i < 10; ++i) f.add(std::to_string(i));
#ifndef SLUICE_MUTATION_NO_SHARD_LOCK
  in_child([&] {
    DictCore::Section s(f.core, 0u);
    s.shard().lru = pack(1, 4000);
    die_for_test();
  });
  CHECK(f.add("new"));
  CHECK(f.dict.stats().cleared == 1);
  CHECK(f.dict.stats().entries == 1);
  CHECK(audit(f.core) == "");
#endif
}
