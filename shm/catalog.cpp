// Catalog: which tables there are, and where. See catalog.hpp.
#include "shm/catalog.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace sluice::shm {
namespace {

constexpr std::uint64_t kMinBytes = 64u << 10;
constexpr std::uint64_t kDefaultBytes = 10u << 20;
constexpr std::uint64_t kDefaultMetricsBytes = 16u << 20;

// One row per dictionary. The order is that of the directory.
struct Row {
  std::string_view name;
  std::uint32_t value_words;
  bool leases;
};
enum : std::size_t { kLimitReq, kLimitCount, kLimitConn, kEwma, kLeastConn, kHealth, kStatus, kBreaker, kDicts };
constexpr std::array<Row, kDicts> kRows{{
    {"plugin-limit-req", kLimitReqBytes / 8, false},
    {"plugin-limit-count", kLimitCountBytes / 8, false},
    {"plugin-limit-conn", sizeof(LeasedValue) / 8, true},
    {"balancer-ewma", sizeof(EwmaScore) / 8, false},
    {"balancer-least-conn", sizeof(LeasedValue) / 8, true},
    {"upstream-healthcheck", sizeof(HealthRecord) / 8, false},
    {"internal-status", DictCore::kMaxValueWords, false},
    {"plugin-api-breaker", kBreakerBytes / 8, false},
}};
constexpr std::string_view kMetrics = "prometheus-metrics";
constexpr std::uint32_t kOwners = 32768;

struct Sizes {
  std::array<std::uint64_t, kDicts> dicts;
  std::uint64_t metrics = kDefaultMetricsBytes;
  std::uint32_t owners = kOwners;
  std::uint32_t workers = 0;
};

DictShape shape_of(std::size_t row, const Sizes& sizes) {
  DictShape shape;
  shape.bytes = sizes.dicts[row];
  shape.value_words = kRows[row].value_words;
  shape.leases = kRows[row].leases;
  shape.worker_slots = kRows[row].leases ? sizes.workers : 0;
  return shape;
}

Result<Sizes> resolve(const std::vector<DictSize>& given, std::uint32_t max_workers) {
  Sizes sizes;
  sizes.dicts.fill(kDefaultBytes);
  sizes.workers = std::clamp(max_workers, 1u, Catalog::kMaxWorkers);
  for (const DictSize& d : given) {
    const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.name == d.name; });
    if (row == kRows.end() && d.name != kMetrics) return invalid("no dictionary of this name", d.name);
    if (d.bytes < kMinBytes)
      return invalid("at least 64k expected, found " + std::to_string(d.bytes) + " bytes", d.name);
    (d.name == kMetrics ? sizes.metrics : sizes.dicts[static_cast<std::size_t>(row - kRows.begin())]) = d.bytes;
  }
  return sizes;
}

}  // namespace

// Where everything is, behind the region's header page.
struct Catalog::Directory {
  std::uint64_t workers, owners, metrics;
  std::uint64_t dicts[kDicts];
};

std::vector<DictSize> Catalog::defaults() {
  std::vector<DictSize> all;
  for (const Row& r : kRows) all.push_back({std::string(r.name), kDefaultBytes});
  all.push_back({std::string(kMetrics), kDefaultMetricsBytes});
  return all;
}

// A fingerprint of every structure that lies in the region: another binary attaches only when it means the same bytes.
std::uint64_t Catalog::layout_hash() noexcept {
  KeyHasher h(Seed{});
  for (std::uint64_t n :
       {sizeof(RegionHeader), sizeof(RobustMutex), sizeof(Journal), sizeof(DictCore::Shard), sizeof(DictCore::Slot),
        sizeof(DictCore::Lease), sizeof(WorkerStatus), sizeof(HealthRecord), sizeof(Directory)})
    h.add(n);
  for (const Row& r : kRows) h.add(r.name).add(std::uint64_t{r.value_words});
  return h.finish().lo;
}

Result<std::unique_ptr<Catalog>> Catalog::create(const std::vector<DictSize>& given, std::uint32_t max_workers) {
  const auto sizes = resolve(given, max_workers);
  if (!sizes) return sizes.error();
  const Cells::Shape cells{sizes->metrics, sizes->workers};
  std::uint64_t total = 2 * kPage + WorkerTable::footprint(sizes->workers) + OwnerTable::footprint(sizes->owners) +
                        Cells::footprint(cells);
  for (std::size_t i = 0; i < kDicts; ++i) total += DictCore::footprint(shape_of(i, *sizes));

  auto region = Region::create("catalog", total, Region::Backing::sparse);
  if (!region) return region.error();
  Region& r = *region;
  const auto place = [&](std::uint64_t bytes, std::uint64_t& where) -> Result<void> {
    const auto at = r.carve(bytes);
    if (!at) return at.error();
    where = *at;
    return {};
  };
  Directory d{};
  std::uint64_t at = 0;
  if (auto ok = place(kPage, at); !ok) return ok.error();
  if (auto ok = r.back(at, kPage); !ok) return ok.error();
  if (auto ok = place(WorkerTable::footprint(sizes->workers), d.workers); !ok) return ok.error();
  if (auto ok = WorkerTable::format(r, d.workers, sizes->workers); !ok) return ok.error();
  if (auto ok = place(OwnerTable::footprint(sizes->owners), d.owners); !ok) return ok.error();
  if (auto ok = OwnerTable::format(r, d.owners, sizes->owners); !ok) return ok.error();
  for (std::size_t i = 0; i < kDicts; ++i) {
    const DictShape shape = shape_of(i, *sizes);
    if (auto ok = place(DictCore::footprint(shape), d.dicts[i]); !ok) return ok.error();
    if (auto ok = DictCore::format(r, d.dicts[i], shape); !ok) return ok.error();
  }
  if (auto ok = place(Cells::footprint(cells), d.metrics); !ok) return ok.error();
  if (auto ok = Cells::format(r, d.metrics, cells); !ok) return ok.error();
  *r.at<Directory>(at) = d;
  r.header().layout_hash = layout_hash();
  r.header().root = static_cast<std::uint32_t>(at);
  return std::unique_ptr<Catalog>(new Catalog(std::move(r)));
}

Result<std::unique_ptr<Catalog>> Catalog::attach(int fd) {
  auto region = Region::attach(fd);
  if (!region) return region.error();
  const RegionHeader& h = region->header();
  if (h.root == 0 || h.layout_hash != layout_hash())
    return Error{Errc::invalid, "shared memory", "the layout is not that of this binary", "shm", false};
  return std::unique_ptr<Catalog>(new Catalog(std::move(*region)));
}

std::unique_ptr<Catalog> Catalog::create_for_test() {
  auto sizes = defaults();
  for (auto& s : sizes) s.bytes = kMinBytes;
  return create(sizes, 8).value();
}

Catalog::Catalog(Region region) noexcept
    : region_(std::move(region)),
      directory_(region_.at<Directory>(region_.header().root)),
      owners_(region_, directory_->owners),
      workers_(region_, directory_->workers),
      limit_req_(region_, directory_->dicts[kLimitReq], &owners_),
      limit_count_(region_, directory_->dicts[kLimitCount], &owners_),
      limit_conn_core_(region_, directory_->dicts[kLimitConn], nullptr),
      ewma_core_(region_, directory_->dicts[kEwma], nullptr),
      least_conn_core_(region_, directory_->dicts[kLeastConn], nullptr),
      health_core_(region_, directory_->dicts[kHealth], nullptr),
      status_(region_, directory_->dicts[kStatus], &owners_),
      breaker_(region_, directory_->dicts[kBreaker], &owners_),
      limit_conn_(limit_conn_core_),
      ewma_(ewma_core_),
      least_conn_(least_conn_core_),
      health_(health_core_),
      metrics_(region_, directory_->metrics) {}

Result<std::uint32_t> Catalog::claim_worker(WorkerRole role, std::uint32_t generation, std::uint32_t number) {
  const auto slot = workers_.claim(role, generation, number);
  if (!slot)
    return Error{Errc::unavailable, "shared memory", "all worker slots are in use by living generations", "shm", true};
  if (auto ok = metrics_.prepare_worker(region_, *slot); !ok) {
    workers_.release(*slot);
    return ok.error();
  }
  return *slot;
}

std::uint64_t Catalog::settle_worker(std::uint32_t slot) noexcept {
  const std::uint64_t returned = limit_conn_.replay_dead(slot) + least_conn_.replay_dead(slot);
  metrics_.fold_worker(slot);
  workers_.release(slot);
  return returned;
}

DictCore* Catalog::dictionary(std::string_view name) noexcept {
  DictCore* const all[] = {&limit_req_,       &limit_count_, &limit_conn_core_, &ewma_core_,
                           &least_conn_core_, &health_core_, &status_, &breaker_};
  static_assert(std::size(all) == kDicts);
  for (std::size_t i = 0; i < kDicts; ++i)
    if (kRows[i].name == name) return all[i];
  return nullptr;
}

Result<void> Catalog::resize(std::string_view name, std::uint64_t bytes) {
  DictCore* dict = dictionary(name);
  if (dict == nullptr) return invalid("no dictionary of this name that can change its size", std::string(name));
  if (bytes < kMinBytes) return invalid("at least 64k expected", std::string(name));
  return dict->resize(region_, bytes);
}

std::vector<NamedStats> Catalog::all_stats() const {
  std::vector<NamedStats> all;
  for (const Row& r : kRows) all.push_back({r.name, const_cast<Catalog*>(this)->dictionary(r.name)->stats()});
  const Cells::Usage u = metrics_.usage();
  Stats m;
  m.bytes = u.bytes;
  m.capacity = u.series_max;
  m.entries = m.pinned = u.series;
  m.refused = u.overflows;
  m.lock_waits = u.lock_waits;
  m.recoveries = u.recoveries;
  all.push_back({kMetrics, m});
  return all;
}

}  // namespace sluice::shm
