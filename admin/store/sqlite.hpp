// The little of SQLite's C interface that the embedded store needs, with owners for handles and errors as Result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "conf/base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace sluice::admin::sqlite {

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* s) : s_(s) {}
  Statement(Statement&& o) noexcept : s_(std::exchange(o.s_, nullptr)) {}
  Statement& operator=(Statement&& o) noexcept {
    std::swap(s_, o.s_);
    return *this;
  }
  ~Statement();

  // Parameters count from 1, columns from 0. Text is not copied: it must live until reset().
  Statement& bind(int at, std::string_view text) noexcept;
  Statement& bind(int at, std::int64_t value) noexcept;
  Result<bool> step();  // true: a row is there
  void reset() noexcept;
  std::string text(int column) const;
  std::int64_t integer(int column) const noexcept;

 private:
  sqlite3_stmt* s_ = nullptr;
};

class Database {
 public:
  Database() = default;
  Database(Database&& o) noexcept : db_(std::exchange(o.db_, nullptr)) {}
  Database& operator=(Database&& o) noexcept {
    std::swap(db_, o.db_);
    return *this;
  }
  ~Database();

  static Result<Database> open(const std::string& path);
  Result<void> exec(const char* sql);
  Result<Statement> prepare(const char* sql);
  std::int64_t changes() const noexcept;
  bool in_transaction() const noexcept;
  explicit operator bool() const noexcept { return db_ != nullptr; }

 private:
  sqlite3* db_ = nullptr;
};

}  // namespace sluice::admin::sqlite
