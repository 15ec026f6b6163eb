// The embedded store: durability, order, fencing, conditions.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <optional>
#include <set>

#include "admin/store/embedded.hpp"
#include "admin/store/migrate.hpp"
#include "test/admin/support.hpp"

using namespace sluice;
using namespace sluice::admin;
using test::Loop;
using test::TempDir;

namespace {

std::unique_ptr<Store> store_at(const std::string& path, Loop& loop, std::function<std::int64_t()> clock = {}) {
  return make_embedded_store({path, loop.poster(), std::move(clock)});
}

Write put(std::string key, std::string json, std::optional<std::uint64_t> expected = {}) {
  Write w;
  w.key = std::move(key);
  w.json = std::move(json);
  w.expected = expected;
  return w;
}

Write gone(std::string key) {
  Write w;
  w.op = Write::Op::remove;
  w.key = std::move(key);
  return w;
}

Result<std::uint64_t> submit(Store& store, Loop& loop, Batch batch) {
  std::optional<Result<std::uint64_t>> result;
  store.submit(std::move(batch), [&](Result<std::uint64_t> r) { result = std::move(r); });
  loop.run_until([&] { return result.has_value(); });
  return *result;
}

}  // namespace

TEST_CASE("what is committed is there after opening again", "[admin][store]") {
  TempDir dir;
  Loop loop;
  {
    auto store = store_at(dir.file("config.db"), loop);
    auto snapshot = store->open();
    REQUIRE(snapshot);
    CHECK(snapshot->revision == 0);
    CHECK(store->next_revision() == 1);
    REQUIRE(submit(*store, loop, {put("routes/1", "{\"a\":1}"), put("routes/2", "{}")}).value() == 1);
    REQUIRE(submit(*store, loop, {put("routes/1", "{\"a\":2}")}).value() == 2);
    REQUIRE(submit(*store, loop, {gone("routes/2")}).value() == 3);
  }
  auto store = store_at(dir.file("config.db"), loop);
  auto snapshot = store->open();
  REQUIRE(snapshot);
  CHECK(snapshot->revision == 3);
  REQUIRE(snapshot->records.size() == 1);
  CHECK(snapshot->records[0].key == "routes/1");
  CHECK(snapshot->records[0].json == "{\"a\":2}");
  CHECK(snapshot->records[0].created == 1);
  CHECK(snapshot->records[0].modified == 2);
}

TEST_CASE("the file and its log are for the owner alone", "[admin][store]") {
  TempDir dir;
  Loop loop;
  auto store = store_at(dir.file("config.db"), loop);
  REQUIRE(store->open());
  for (const char* name : {"config.db", "config.db-wal"}) {
    struct stat status {};
    REQUIRE(::stat(dir.file(name).c_str(), &status) == 0);
    CHECK((status.st_mode & 077) == 0);
  }
}

TEST_CASE("writes pipeline and are answered in order", "[admin][store]") {
  TempDir dir;
  Loop loop;
  auto store = store_at(dir.file("config.db"), loop);
  REQUIRE(store->open());
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 200; ++i)
    CHECK(store->submit({put("routes/" + std::to_string(i), "{}")}, [&](Result<std::uint64_t> r) {
      order.push_back(r.value());
    }) == static_cast<std::uint64_t>(i + 1));
  CHECK(store->pending() == 200);
  loop.run_until([&] { return order.size() == 200; });
  CHECK(std::is_sorted(order.begin(), order.end()));
  CHECK(store->pending() == 0);
}

TEST_CASE("a condition that does not hold refuses the batch and what came after it", "[admin][store]") {
  TempDir dir;
  Loop loop;
  auto store = store_at(dir.file("config.db"), loop);
  REQUIRE(store->open());
  REQUIRE(submit(*store, loop, {put("routes/1", "{}", 0)}));
  std::vector<bool> good;
  std::optional<Error> why;
  store->submit({put("routes/2", "{}")}, [&](auto r) { good.push_back(r.has_value()); });
  store->submit({put("routes/3", "{}"), put("routes/1", "{}", 7)}, [&](auto r) {
    good.push_back(r.has_value());
    if (!r) why = r.error();
  });
  store->submit({put("routes/4", "{}")}, [&](auto r) { good.push_back(r.has_value()); });
  loop.run_until([&] { return good.size() == 3; });
  CHECK(good == std::vector<bool>{true, false, false});
  REQUIRE(why);
  CHECK(why->code == Errc::conflict);
  CHECK(why->reason == "value changed before overwritten");
  CHECK_FALSE(submit(*store, loop, {put("routes/5", "{}")}));
  store->clear_failure();
  REQUIRE(submit(*store, loop, {put("routes/5", "{}")}));
  store->close();
  auto again = store_at(dir.file("config.db"), loop);
  auto snapshot = again->open();
  REQUIRE(snapshot);
  std::vector<std::string> keys;
  for (const Record& r : snapshot->records) keys.push_back(r.key);
  CHECK(keys == std::vector<std::string>{"routes/1", "routes/2", "routes/5"});
}

TEST_CASE("a second opener fences the first one out", "[admin][store]") {
  TempDir dir;
  Loop loop;
  auto first = store_at(dir.file("config.db"), loop);
  auto one = first->open();
  REQUIRE(one);
  auto second = store_at(dir.file("config.db"), loop);
  auto two = second->open();
  REQUIRE(two);
  CHECK(two->epoch == one->epoch + 1);
  auto refused = submit(*first, loop, {put("routes/1", "{}")});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::forbidden);
  CHECK(submit(*second, loop, {put("routes/1", "{}")}));
}

TEST_CASE("what has expired is not loaded", "[admin][store]") {
  TempDir dir;
  Loop loop;
  {
    auto store = store_at(dir.file("config.db"), loop);
    REQUIRE(store->open());
    Write w = put("routes/1", "{}");
    w.expires_ms = 5000;
    REQUIRE(submit(*store, loop, {w, put("routes/2", "{}")}));
  }
  auto early = store_at(dir.file("config.db"), loop, [] { return std::int64_t{4999}; });
  CHECK(early->open()->records.size() == 2);
  auto late = store_at(dir.file("config.db"), loop, [] { return std::int64_t{5001}; });
  CHECK(late->open()->records.size() == 1);
}

TEST_CASE("an acknowledged write survives kill -9", "[admin][store]") {
  TempDir dir;
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Loop loop;
    auto store = store_at(dir.file("config.db"), loop);
    if (!store->open()) _exit(1);
    for (std::uint32_t i = 0;; ++i) {
      bool done = false;
      store->submit({put("routes/" + std::to_string(i), "{\"n\":" + std::to_string(i) + "}")}, [&](auto r) {
        if (!r) _exit(2);
        done = true;
      });
      loop.run_until([&] { return done; });
      if (::write(pipe_ends[1], &i, sizeof i) != sizeof i) _exit(3);
    }
  }
  ::close(pipe_ends[1]);
  std::uint32_t acknowledged = 0;
  while (acknowledged < 50) REQUIRE(::read(pipe_ends[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (std::uint32_t n = 0; ::read(pipe_ends[0], &n, sizeof n) == sizeof n;) acknowledged = n;
  ::close(pipe_ends[0]);
  Loop loop;
  auto store = store_at(dir.file("config.db"), loop);
  auto snapshot = store->open();
  REQUIRE(snapshot);
  std::set<std::string> keys;
  for (const Record& r : snapshot->records) keys.insert(r.key);
  for (std::uint32_t i = 0; i <= acknowledged; ++i) CHECK(keys.count("routes/" + std::to_string(i)) == 1);
  CHECK(submit(*store, loop, {put("routes/after", "{}")}));
}

TEST_CASE("a file of a newer layout is refused, a broken one too", "[admin][store]") {
  TempDir dir;
  Loop loop;
  {
    auto db = sqlite::Database::open(dir.file("new.db"));
    REQUIRE(db);
    REQUIRE(db->exec("PRAGMA user_version=99"));
  }
  auto store = store_at(dir.file("new.db"), loop);
  auto refused = store->open();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reason.find("layout 99") != std::string::npos);
  {
    std::FILE* f = std::fopen(dir.file("junk.db").c_str(), "w");
    std::fputs("this is no database, and it is long enough to be taken for the head of one, or so one might think\n",
               f);
    std::fclose(f);
  }
  auto junk = store_at(dir.file("junk.db"), loop);
  CHECK_FALSE(junk->open());
}

TEST_CASE("a disk that takes nothing keeps nobody from reading, and the first write that it takes fences", "[admin][store]") {
  TempDir dir;
  Loop loop;
  const std::string path = dir.file("config.db");
  std::uint64_t epoch = 0;
  {
    auto store = store_at(path, loop);
    epoch = store->open()->epoch;
    REQUIRE(submit(*store, loop, {put("routes/1", "{}")}).has_value());
  }
  // No file may grow: what a full disk does to every write.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  auto store = store_at(path, loop);
  setrlimit(RLIMIT_FSIZE, &none);
  auto snapshot = store->open();
  Result<std::uint64_t> refused = snapshot.has_value() ? submit(*store, loop, {put("routes/2", "{}")}) : snapshot.error();
  setrlimit(RLIMIT_FSIZE, &before);
  REQUIRE(snapshot.has_value());
  CHECK(snapshot->records.size() == 1);
  CHECK(snapshot->epoch != epoch);
  CHECK_FALSE(refused.has_value());
  store->clear_failure();
  REQUIRE(submit(*store, loop, {put("routes/3", "{}")}).has_value());
  store.reset();
  auto again = store_at(path, loop);
  auto after = again->open();
  REQUIRE(after.has_value());
  CHECK(after->records.size() == 2);
  CHECK(after->epoch == epoch + 2);   // one for the claim, one for this opening
}
