#include "shm/owner_table.hpp"

#include "shm_support.hpp"

using namespace sluice::shm;
using namespace sluice::shm::test;

TEST_CASE("owners are interned once for everybody", "[shm][owner]") {
  Table t(shape_for(4, 2));
  const OwnerId a = t.owners.intern("limit-count|/apisix/routes/1");
  CHECK(a.id == 1);
  CHECK(t.owners.intern("limit-count|/apisix/routes/1") == a);
  CHECK(t.owners.intern("limit-count|/apisix/routes/2").id == 2);
  CHECK(in_child([&] {
          if (!(t.owners.intern("limit-count|/apisix/routes/1") == a)) ::_exit(1);
          t.owners.intern("third");
        }) == 0);
  CHECK(t.owners.size() == 3);
  CHECK(t.owners.text(a.id) == "limit-count|/apisix/routes/1");
  CHECK(t.owners.text(3) == "third");
  CHECK(t.owners.text(0).empty());
  CHECK(t.owners.text(60).empty());
  CHECK(t.owners.text(t.owners.intern(std::string(500, 'x')).id).size() == OwnerTable::kTextBytes);
}

TEST_CASE("reset bumps the epoch of one owner", "[shm][owner]") {
  Table t(shape_for(4, 2));
  const OwnerId a = t.owners.intern("a"), b = t.owners.intern("b");
  CHECK(t.owners.reset(a));
  CHECK(t.owners.reset(a));
  CHECK(t.owners.epoch(a.id) == 2);
  CHECK(t.owners.epoch(b.id) == 0);
  CHECK_FALSE(t.owners.reset(OwnerId{}));
}

TEST_CASE("a full owner table shares id 0, but not the keys", "[shm][owner]") {
  Table t(shape_for(4, 2));
  for (std::uint32_t i = 1; i < Table::kOwners; ++i) CHECK(t.owners.intern("o" + std::to_string(i)).id == i);
  const OwnerId x = t.owners.intern("x"), y = t.owners.intern("y");
  CHECK(x.id == 0);
  CHECK(y.id == 0);
  CHECK(t.owners.overflows() == 2);
  CHECK_FALSE(make_key(t.region.seed(), x, "k") == make_key(t.region.seed(), y, "k"));
  CHECK(t.owners.intern("o5").id == 5);
}

TEST_CASE("a process killed at any step of interning leaves the owner or none", "[shm][owner][rollback]") {
  Table t(shape_for(4, 2));
  int n = 0;
  at_every_step([] {}, [&] { t.owners.intern("o" + std::to_string(n)); },
                [&](std::int64_t) {
                  const std::uint32_t before = t.owners.size();
                  const OwnerId o = t.owners.intern("o" + std::to_string(n));
                  CHECK(o.id >= before);
                  CHECK(t.owners.size() - before <= 1);
                  CHECK(t.owners.text(o.id) == "o" + std::to_string(n));
                  ++n;
                });
}
