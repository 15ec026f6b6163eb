// The layout of the store's file and the way from older layouts to this one.
//
// `PRAGMA user_version` holds the layout's number. Each step is one transaction; a file of a newer program is refused.
#pragma once

#include "admin/store/sqlite.hpp"

namespace sluice::admin {

inline constexpr int kStoreLayout = 1;

Result<int> store_layout(sqlite::Database& db);   // 0: nothing is there yet
Result<void> migrate(sqlite::Database& db);

}  // namespace sluice::admin
