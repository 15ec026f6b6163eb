#include "admin/store/embedded.hpp"

#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "admin/store/migrate.hpp"
#include "admin/store/sqlite.hpp"
#include "conf/base/clock.hpp"
#include "conf/base/log.hpp"

namespace sluice::admin {

namespace {

struct Job {
  Batch batch;
  std::uint64_t revision = 0;
  Committed done;
};

std::int64_t system_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(wall_now().time_since_epoch()).count();
}

class EmbeddedStore final : public Store {
 public:
  explicit EmbeddedStore(EmbeddedOptions o) : options_(std::move(o)) {
    if (!options_.wall_ms) options_.wall_ms = system_ms;
  }
  ~EmbeddedStore() override { close(); }

  Result<Snapshot> open() override;
  std::uint64_t submit(Batch batch, Committed done) override;
  std::uint64_t next_revision() const noexcept override { return revision_ + 1; }
  std::size_t pending() const noexcept override { return pending_; }
  void clear_failure() override {
    std::lock_guard lock(mutex_);
    failed_ = false;
  }
  void close() override;

 private:
  Result<Snapshot> open_for_writing();
  Result<Snapshot> open_for_reading();
  Result<void> prepare();
  Result<void> claim();
  Result<Snapshot> load();
  void drop_database();
  void run();
  void commit_group(std::deque<Job>& group);
  Result<void> apply_locked(const Job& job);  // inside the transaction
  Result<void> check_expected(const Write& write);
  Result<void> finish_transaction(std::uint64_t revision);
  void reply(Job& job, Result<std::uint64_t> result);

  EmbeddedOptions options_;
  // Store thread only, once it runs.
  sqlite::Database db_;
  sqlite::Statement put_, remove_, get_, epoch_, set_revision_;
  std::uint64_t my_epoch_ = 0;
  bool claimed_ = false;   // earlier users are fenced out
  // Main thread only.
  std::uint64_t revision_ = 0;
  std::size_t pending_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;  // guarded by mutex_
  bool failed_ = false;    // guarded by mutex_
  bool stop_ = false;      // guarded by mutex_
  std::thread thread_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

Result<Snapshot> EmbeddedStore::open() {
  auto snapshot = open_for_writing();
  if (!snapshot && snapshot.error().code != Errc::invalid) {
    // A full disk must not keep what is configured from being served.
    const Error why = snapshot.error();
    drop_database();
    snapshot = open_for_reading();
    if (!snapshot) return why;
    log::crit("store: " + why.message() + "; what it holds is served, writes are refused until the disk takes one");
  }
  if (!snapshot) return snapshot;
  revision_ = snapshot->revision;
  thread_ = std::thread([this] { run(); });
  return snapshot;
}

Result<Snapshot> EmbeddedStore::open_for_writing() {
  const mode_t before = ::umask(0077);  // the file and its -wal and -shm are for us alone
  auto db = sqlite::Database::open(options_.path);
  if (db) {
    db_ = std::move(*db);
    for (const char* pragma : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA wal_autocheckpoint=1000"})
      if (auto done = db_.exec(pragma); !done) {
        ::umask(before);
        return done.error();
      }
  }
  ::umask(before);
  if (!db) return db.error();
  if (auto ready = migrate(db_); !ready) return ready.error();
  if (auto ready = prepare(); !ready) return ready.error();
  if (auto mine = claim(); !mine) return mine.error();
  return load();
}

// Takes no room on the disk: the lock is held for good instead of the index of the log in shared memory. So nobody changes
// anything between this and the claim that comes before the first write.
Result<Snapshot> EmbeddedStore::open_for_reading() {
  auto db = sqlite::Database::open(options_.path);
  if (!db) return db.error();
  db_ = std::move(*db);
  for (const char* pragma : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA synchronous=FULL", "PRAGMA wal_autocheckpoint=1000"})
    if (auto done = db_.exec(pragma); !done) return done.error();
  auto layout = store_layout(db_);
  if (!layout) return layout.error();
  if (*layout != kStoreLayout) return Error{Errc::io, options_.path, "holds nothing that can be read", "store"};
  if (auto ready = prepare(); !ready) return ready.error();
  auto snapshot = load();
  // The epoch is not counted up: the clock makes it another one than that of any earlier user.
  if (snapshot) snapshot->epoch = static_cast<std::uint64_t>(options_.wall_ms());
  return snapshot;
}

void EmbeddedStore::drop_database() {
  for (sqlite::Statement* s : {&put_, &remove_, &get_, &epoch_, &set_revision_}) *s = sqlite::Statement();
  db_ = sqlite::Database();
}

Result<void> EmbeddedStore::claim() {
  const std::string text =
      "BEGIN IMMEDIATE; UPDATE counters SET value=value+1 WHERE name='epoch';"
      "DELETE FROM objects WHERE expires<>0 AND expires<=" +
      std::to_string(options_.wall_ms()) + ";COMMIT";
  if (auto done = db_.exec(text.c_str()); !done) {
    if (db_.in_transaction()) (void)db_.exec("ROLLBACK");
    return done.error();
  }
  auto row = epoch_.step();
  const bool found = row && *row;
  if (found) my_epoch_ = static_cast<std::uint64_t>(epoch_.integer(0));
  epoch_.reset();
  if (!row) return row.error();
  if (!found) return Error{Errc::internal, {}, "the store has no epoch", "store"};
  claimed_ = true;
  return {};
}

Result<void> EmbeddedStore::prepare() {
  const auto make = [&](sqlite::Statement& s, const char* sql) -> Result<void> {
    auto made = db_.prepare(sql);
    if (!made) return made.error();
    s = std::move(*made);
    return {};
  };
  if (auto r = make(put_,
                    "INSERT INTO objects(key,value,created,modified,expires) VALUES(?1,?2,?3,?3,?4) "
                    "ON CONFLICT(key) DO UPDATE SET value=?2, modified=?3, expires=?4");
      !r)
    return r;
  if (auto r = make(remove_, "DELETE FROM objects WHERE key=?1"); !r) return r;
  if (auto r = make(get_, "SELECT modified FROM objects WHERE key=?1"); !r) return r;
  if (auto r = make(epoch_, "SELECT value FROM counters WHERE name='epoch'"); !r) return r;
  return make(set_revision_, "UPDATE counters SET value=?1 WHERE name='revision'");
}

Result<Snapshot> EmbeddedStore::load() {
  Snapshot out;
  auto counters = db_.prepare("SELECT name,value FROM counters");
  if (!counters) return counters.error();
  while (true) {
    auto row = counters->step();
    if (!row) return row.error();
    if (!*row) break;
    const auto value = static_cast<std::uint64_t>(counters->integer(1));
    if (counters->text(0) == "epoch") out.epoch = value;
    if (counters->text(0) == "revision") out.revision = value;
  }
  auto rows = db_.prepare(("SELECT key,value,created,modified,expires FROM objects WHERE expires=0 OR expires>" +
                           std::to_string(options_.wall_ms()) + " ORDER BY key")
                              .c_str());
  if (!rows) return rows.error();
  while (true) {
    auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return out;
    Record r{rows->text(0), rows->text(1), static_cast<std::uint64_t>(rows->integer(2)),
             static_cast<std::uint64_t>(rows->integer(3)), rows->integer(4)};
    out.records.push_back(std::move(r));
  }
}

std::uint64_t EmbeddedStore::submit(Batch batch, Committed done) {
  Job job{std::move(batch), ++revision_, std::move(done)};
  const std::uint64_t revision = job.revision;
  ++pending_;
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
  return revision;
}

void EmbeddedStore::run() {
  std::deque<Job> group;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      group.swap(queue_);
    }
    commit_group(group);
    group.clear();
  }
}

void EmbeddedStore::reply(Job& job, Result<std::uint64_t> result) {
  options_.post([this, alive = alive_, done = std::move(job.done), result = std::move(result)]() mutable {
    if (*alive) --pending_;
    if (done) done(std::move(result));
  });
}

void EmbeddedStore::commit_group(std::deque<Job>& group) {
  const auto fail_from = [&](std::size_t first, const Error& why) {
    {
      std::lock_guard lock(mutex_);
      failed_ = true;
    }
    for (std::size_t i = first; i < group.size(); ++i) reply(group[i], why);
  };
  {
    std::unique_lock lock(mutex_);
    if (failed_) {
      lock.unlock();
      return fail_from(0, Error{Errc::unavailable, {}, "an earlier write failed", "store", true});
    }
  }
  if (!claimed_) {
    if (auto mine = claim(); !mine) return fail_from(0, mine.error());
    log::notice("store: the disk takes writes again");
  }
  if (auto begun = db_.exec("BEGIN IMMEDIATE"); !begun) {
    log::error("store: cannot begin a transaction: " + begun.error().message());
    return fail_from(0, begun.error());
  }
  std::size_t good = 0;
  std::optional<Error> why;
  auto current = epoch_.step();
  if (!current || !*current)
    why = current ? Error{Errc::internal, {}, "the store has no epoch", "store"} : current.error();
  else if (static_cast<std::uint64_t>(epoch_.integer(0)) != my_epoch_)
    why = Error{Errc::forbidden, {}, "a newer admin process has taken over the store", "store"};
  epoch_.reset();
  while (!why && good < group.size()) {
    if (auto done = apply_locked(group[good]); done)
      ++good;
    else
      why = done.error();
  }
  if (why && why->code != Errc::conflict) good = 0;  // the transaction cannot be trusted: nothing of it is kept
  if (good > 0) {
    if (auto done = finish_transaction(group[good - 1].revision); !done) {
      good = 0;
      why = done.error();
    }
  }
  if (good == 0 && db_.in_transaction()) (void)db_.exec("ROLLBACK");
  for (std::size_t i = 0; i < good; ++i) reply(group[i], group[i].revision);
  if (why) {
    log::error("store: a write failed: " + why->message());
    fail_from(good, *why);
  }
}

Result<void> EmbeddedStore::check_expected(const Write& write) {
  get_.bind(1, write.key);
  auto row = get_.step();
  const std::uint64_t found = row && *row ? static_cast<std::uint64_t>(get_.integer(0)) : 0;
  get_.reset();
  if (!row) return row.error();
  if (found != *write.expected) return Error{Errc::conflict, write.key, kValueChanged, "store", true};
  return {};
}

Result<void> EmbeddedStore::apply_locked(const Job& job) {
  for (const Write& w : job.batch)  // all checks before the first change: a refused batch leaves nothing behind
    if (w.expected)
      if (auto ok = check_expected(w); !ok) return ok;
  for (const Write& w : job.batch) {
    sqlite::Statement& s = w.op == Write::Op::put ? put_ : remove_;
    s.bind(1, w.key);
    if (w.op == Write::Op::put)
      s.bind(2, w.json).bind(3, static_cast<std::int64_t>(job.revision)).bind(4, w.expires_ms);
    auto done = s.step();
    s.reset();
    if (!done) return done.error();
  }
  return {};
}

Result<void> EmbeddedStore::finish_transaction(std::uint64_t revision) {
  set_revision_.bind(1, static_cast<std::int64_t>(revision));
  auto done = set_revision_.step();
  set_revision_.reset();
  if (!done) return done.error();
  return db_.exec("COMMIT");
}

void EmbeddedStore::close() {
  if (thread_.joinable()) {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  *alive_ = false;
  drop_database();
}

}  // namespace

std::unique_ptr<Store> make_embedded_store(EmbeddedOptions options) {
  return std::make_unique<EmbeddedStore>(std::move(options));
}

}  // namespace sluice::admin
