// The catalog: all shared memory of a gateway by name. The master makes it once from the sizes in the node file;
// workers and the admin process inherit it; a new binary attaches by descriptor and finds the same tables, if it knows
// their layout.
//
//   region header | directory | worker table | owner table | dictionaries … | metrics
//
// A Catalog is a process's view: cheap handles over one mapping. It is made before the fork and lives as long as the
// process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shm/cells.hpp"
#include "shm/dict.hpp"
#include "shm/lease_dict.hpp"
#include "shm/owner_table.hpp"
#include "shm/region.hpp"
#include "shm/slot_table.hpp"
#include "shm/worker_table.hpp"

namespace sluice::shm {

// Values that the plugins may keep, in bytes: static_assert(sizeof(V) <= kLimitReqBytes).
inline constexpr std::size_t kLimitReqBytes = 24;
inline constexpr std::size_t kLimitCountBytes = 64;
inline constexpr std::size_t kBreakerBytes = 24;

// Health of a node as the checks and the passive reports see it. Meaning of state: enum of the health checker.
struct HealthRecord {
  std::uint32_t state = 0;
  std::uint32_t successes = 0, http_failures = 0, tcp_failures = 0, timeouts = 0;
  std::uint32_t last_code = 0;
  std::int64_t changed_ns = 0;
  std::int64_t checked_ns = 0;
};
static_assert(sizeof(HealthRecord) == 40);
using HealthTable = SlotTable<HealthRecord>;

struct DictSize {
  std::string name;
  std::uint64_t bytes;
};

struct NamedStats {
  std::string_view name;
  Stats stats;
};

class Catalog {
 public:
  static constexpr std::uint32_t kMaxWorkers = 256;

  // The names that exist and their default sizes.
  static std::vector<DictSize> defaults();

  // All tables, sized by `sizes` (names left out get their default). `max_workers` bounds the worker slots of all
  // living generations, the admin processes included. invalid: unknown name, or a size below 64 KiB; io: no memory.
  static Result<std::unique_ptr<Catalog>> create(const std::vector<DictSize>& sizes, std::uint32_t max_workers = 64);

  // The catalog behind an inherited descriptor; takes it over. invalid when its layouts are not ours.
  static Result<std::unique_ptr<Catalog>> attach(int fd);

  // Small (64 KiB per table, 8 worker slots): for tests of other rooms.
  static std::unique_ptr<Catalog> create_for_test();

  int fd() const noexcept { return region_.fd(); }
  const Region& region() const noexcept { return region_; }
  const Seed& seed() const noexcept { return region_.seed(); }

  OwnerTable& owners() noexcept { return owners_; }
  WorkerTable& workers() noexcept { return workers_; }

  DictCore& limit_req() noexcept { return limit_req_; }      // plugin-limit-req: Dict<V>, V up to kLimitReqBytes
  DictCore& limit_count() noexcept { return limit_count_; }  // plugin-limit-count: Dict<V>, V up to kLimitCountBytes
  LeaseDict& limit_conn() noexcept { return limit_conn_; }   // plugin-limit-conn
  EwmaTable& ewma() noexcept { return ewma_; }               // balancer-ewma
  LeaseTable& least_conn() noexcept { return least_conn_; }  // balancer-least-conn
  HealthTable& health() noexcept { return health_; }         // upstream-healthcheck
  Cells& metrics() noexcept { return metrics_; }             // prometheus-metrics
  DictCore& api_breaker() noexcept { return breaker_; }      // plugin-api-breaker: Dict<V>, V up to kBreakerBytes
  DictCore& status() noexcept { return status_; }            // internal-status: Dict<V>, V up to 64 bytes

  // Master: a worker slot with everything behind it, ready for a fork; nothing when all slots are in use.
  Result<std::uint32_t> claim_worker(WorkerRole role, std::uint32_t generation, std::uint32_t number);

  // Master: after the process in the slot has ended: its leases go back, its metrics are folded, the slot is freed.
  // Idempotent. Returns how many units in flight were returned.
  std::uint64_t settle_worker(std::uint32_t slot) noexcept;

  // Changes the size of a dictionary in place, in all processes (see DictCore::resize); not for prometheus-metrics.
  Result<void> resize(std::string_view name, std::uint64_t bytes);

  // Every dictionary by name, for inspection and /metrics.
  std::vector<NamedStats> all_stats() const;

  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

 private:
  struct Directory;
  explicit Catalog(Region region) noexcept;
  static std::uint64_t layout_hash() noexcept;
  DictCore* dictionary(std::string_view name) noexcept;

  Region region_;
  const Directory* directory_;
  OwnerTable owners_;
  WorkerTable workers_;
  DictCore limit_req_, limit_count_, limit_conn_core_, ewma_core_, least_conn_core_, health_core_, status_, breaker_;
  LeaseDict limit_conn_;
  EwmaTable ewma_;
  LeaseTable least_conn_;
  HealthTable health_;
  Cells metrics_;
};

}  // namespace sluice::shm
