// EmbeddedStore: the configuration in one SQLite file, on a thread of its own.
//
// WAL with synchronous=FULL: a commit has reached the disk when its callback comes, so an acknowledged write survives
// kill -9 of everything and a power cut. All batches that are waiting when the thread turns to them go into one
// transaction with one fsync; each batch keeps a revision of its own. Opening raises the epoch in the file; every
// transaction checks it first, so an older admin process that still runs cannot write any more.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admin/store/store.hpp"

namespace sluice::admin {

struct EmbeddedOptions {
  std::string path;                                 // the file; its folder must exist
  std::function<void(std::function<void()>)> post;  // runs a function on the main thread; callable from any thread
  std::function<std::int64_t()> wall_ms;            // the wall clock; absent: the system's
};

std::unique_ptr<Store> make_embedded_store(EmbeddedOptions options);

}  // namespace sluice::admin
