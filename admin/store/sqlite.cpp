#include "admin/store/sqlite.hpp"

#include <sqlite3.h>

#include <cstring>

namespace sluice::admin::sqlite {

namespace {
Error failure(sqlite3* db, int code) {
  Error e;
  e.code = (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_IOERR
               ? Errc::unavailable
               : Errc::io;
  e.reason = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  e.source = "store";
  e.retry = e.code == Errc::unavailable;
  return e;
}
// SQLite makes a path absolute by following every link in it, and would so leave /proc/self/fd/N, the only way to a folder
// whose parents are closed to this process, for the closed one. This file system takes a path as it is given.
const char* plain_paths() {
  static const bool registered = [] {
    static sqlite3_vfs vfs = *sqlite3_vfs_find(nullptr);
    vfs.zName = "sluice";
    vfs.pNext = nullptr;
    vfs.xFullPathname = [](sqlite3_vfs*, const char* name, int room, char* out) {
      const int n = sqlite3_snprintf(room, out, "%s", name) == nullptr ? room : static_cast<int>(std::strlen(out));
      return n + 1 >= room ? SQLITE_CANTOPEN : SQLITE_OK;
    };
    return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
  }();
  return registered ? "sluice" : nullptr;
}

}  // namespace

Statement::~Statement() { sqlite3_finalize(s_); }

Statement& Statement::bind(int at, std::string_view text) noexcept {
  sqlite3_bind_text(s_, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind(int at, std::int64_t value) noexcept {
  sqlite3_bind_int64(s_, at, value);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(s_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failure(sqlite3_db_handle(s_), code);
}

void Statement::reset() noexcept {
  sqlite3_reset(s_);
  sqlite3_clear_bindings(s_);
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(s_, column));
  return data == nullptr ? std::string()
                         : std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(s_, column)));
}

std::int64_t Statement::integer(int column) const noexcept { return sqlite3_column_int64(s_, column); }

Database::~Database() { sqlite3_close_v2(db_); }

Result<Database> Database::open(const std::string& path) {
  Database d;
  const int code =
      sqlite3_open_v2(path.c_str(), &d.db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                      plain_paths());
  if (code != SQLITE_OK) {
    Error e = failure(d.db_, code);
    e.path = path;
    return e;
  }
  sqlite3_extended_result_codes(d.db_, 1);
  sqlite3_busy_timeout(d.db_, 5000);
  return d;
}

Result<void> Database::exec(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(db_, code);
  return {};
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* s = nullptr;
  const int code = sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, nullptr);
  if (code != SQLITE_OK) return failure(db_, code);
  return Statement(s);
}

std::int64_t Database::changes() const noexcept { return sqlite3_changes64(db_); }
bool Database::in_transaction() const noexcept { return sqlite3_get_autocommit(db_) == 0; }

}  // namespace sluice::admin::sqlite
