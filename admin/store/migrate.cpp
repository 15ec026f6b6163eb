#include "admin/store/migrate.hpp"

#include <string>

namespace sluice::admin {

namespace {
// kSteps[n] leads from layout n to n + 1.
constexpr const char* kSteps[kStoreLayout] = {
    "CREATE TABLE objects(key TEXT PRIMARY KEY, value TEXT NOT NULL, created INTEGER NOT NULL,"
    " modified INTEGER NOT NULL, expires INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"
    "CREATE TABLE counters(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO counters VALUES('epoch',0),('revision',0);",
};
}  // namespace

Result<int> store_layout(sqlite::Database& db) {
  auto statement = db.prepare("PRAGMA user_version");
  if (!statement) return statement.error();
  auto row = statement->step();
  if (!row) return row.error();
  return *row ? static_cast<int>(statement->integer(0)) : 0;
}

Result<void> migrate(sqlite::Database& db) {
  const auto layout = store_layout(db);
  if (!layout) return layout.error();
  const int found = *layout;
  if (found > kStoreLayout)
    return Error{Errc::invalid,
                 {},
                 "the store has layout " + std::to_string(found) +
                     ", written by a newer version; this one reads up to " + std::to_string(kStoreLayout),
                 "store"};
  for (int at = found; at < kStoreLayout; ++at) {
    const std::string sql =
        std::string("BEGIN IMMEDIATE;") + kSteps[at] + "PRAGMA user_version=" + std::to_string(at + 1) + ";COMMIT";
    if (auto done = db.exec(sql.c_str()); !done) {
      if (db.in_transaction()) (void)db.exec("ROLLBACK");
      return done;
    }
  }
  return {};
}

}  // namespace sluice::admin
