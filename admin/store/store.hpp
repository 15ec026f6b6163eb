// Store: where the configuration is kept, behind one interface.
//
// Keys are resource paths without prefix: "routes/1", "consumers/jack/credentials/a", "plugin_metadata/prometheus".
// Values are compact JSON in their at-rest form (secret fields already encrypted). The store does not look inside.
//
// One revision counter for the whole store; a batch is one revision, applied whole or not at all. Writes pipeline:
// submit() returns at once with the revision that the batch will have, and the callback comes when it is durable.
// A later batch may rely on an earlier one that is still under way: when a batch fails, all batches submitted after it
// and before clear_failure() fail too, so that nothing is committed on top of a change that never happened.
//
// Threads: all functions are called on the admin process's main thread; callbacks are posted back to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conf/base/result.hpp"

namespace sluice::admin {

struct Record {
  std::string key;
  std::string json;
  std::uint64_t created = 0;    // revision of the write that created it
  std::uint64_t modified = 0;   // revision of the last write
  std::int64_t expires_ms = 0;  // wall clock, milliseconds; 0: never
};

struct Write {
  enum class Op : std::uint8_t { put, remove };
  Op op = Op::put;
  std::string key;
  std::string json;                       // put only
  std::int64_t expires_ms = 0;            // put only; 0: permanent
  std::optional<std::uint64_t> expected;  // modified revision that must be found; 0: must be absent
};

using Batch = std::vector<Write>;
using Committed = std::function<void(Result<std::uint64_t>)>;  // the revision, or why not

struct Snapshot {
  std::uint64_t epoch = 0;
  std::uint64_t revision = 0;
  std::vector<Record> records;  // in key order; expired ones are left out
};

class Store {
 public:
  virtual ~Store() = default;

  // Opens for writing and fences every earlier user out (epoch + 1). Where nothing can be written (a full disk), what is
  // there is read all the same, and the fence comes with the first write that the disk takes. Blocks.
  virtual Result<Snapshot> open() = 0;

  // REQUIRES: a successful open(), a batch that is not empty and names each key once.
  virtual std::uint64_t submit(Batch batch, Committed done) = 0;

  // The revision that the next submit() gets: POST makes ids from it.
  virtual std::uint64_t next_revision() const noexcept = 0;
  virtual std::size_t pending() const noexcept = 0;
  // After a failure, once pending() is 0 and the caller has forgotten what was staged: writes are taken again.
  virtual void clear_failure() = 0;
  // Finishes what was submitted and closes. Callbacks that are still due come after the next turn of the loop.
  virtual void close() = 0;
};

// Error codes: unavailable (disk, lock), conflict (expected revision), forbidden (a newer admin process has taken
// over).
inline constexpr const char* kValueChanged = "value changed before overwritten";

}  // namespace sluice::admin
