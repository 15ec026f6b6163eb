#include "master/affinity.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace sluice::master;
namespace fs = std::filesystem;

namespace {

// A made-up root with proc/self/cgroup and sys/fs/cgroup below it.
class FakeRoot {
 public:
  FakeRoot() {
    char name[] = "/tmp/sluice-cgroup-XXXXXX";
    path_ = std::string(mkdtemp(name)) + "/";
  }
  ~FakeRoot() { fs::remove_all(path_); }
  void put(const std::string& file, const std::string& text) {
    fs::create_directories(fs::path(path_ + file).parent_path());
    std::ofstream(path_ + file) << text << "\n";
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("the quota of cgroup v2 counts at every level", "[affinity]") {
  FakeRoot root;
  root.put("proc/self/cgroup", "0::/a/b");
  CHECK_FALSE(cgroup_cpu_quota(root.path()).has_value());
  root.put("sys/fs/cgroup/a/b/cpu.max", "max 100000");
  CHECK_FALSE(cgroup_cpu_quota(root.path()).has_value());
  root.put("sys/fs/cgroup/a/cpu.max", "150000 100000");
  CHECK(cgroup_cpu_quota(root.path()).value() == Approx(1.5));
  root.put("sys/fs/cgroup/a/b/cpu.max", "50000 100000");
  CHECK(cgroup_cpu_quota(root.path()).value() == Approx(0.5));
}

TEST_CASE("the quota of cgroup v1 is read too", "[affinity]") {
  FakeRoot root;
  root.put("proc/self/cgroup", "4:cpu,cpuacct:/x\n2:memory:/y");
  root.put("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1");
  root.put("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000");
  CHECK_FALSE(cgroup_cpu_quota(root.path()).has_value());
  root.put("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "250000");
  CHECK(cgroup_cpu_quota(root.path()).value() == Approx(2.5));
}

TEST_CASE("auto is the smaller of mask and quota, rounded up, never zero", "[affinity]") {
  CHECK(automatic_worker_count(8, std::nullopt) == 8);
  CHECK(automatic_worker_count(8, 2.5) == 3);
  CHECK(automatic_worker_count(2, 16.0) == 2);
  CHECK(automatic_worker_count(4, 0.1) == 1);
  CHECK(automatic_worker_count(0, std::nullopt) == 1);
}

TEST_CASE("workers are spread over the allowed CPUs only", "[affinity]") {
  CHECK(spread_over({4, 5, 6, 7}, 4) == std::vector<int>{4, 5, 6, 7});
  CHECK(spread_over({2, 9}, 4) == std::vector<int>{2, 9, 2, 9});
  CHECK(spread_over({3}, 2) == std::vector<int>{3, 3});
}

TEST_CASE("pinning stays inside the mask", "[affinity]") {
  const std::vector<int> before = allowed_cpus();
  REQUIRE_FALSE(before.empty());
  REQUIRE(pin_to(before.back()));
  CHECK(allowed_cpus() == std::vector<int>{before.back()});
  REQUIRE(unpin(before));
  CHECK(allowed_cpus() == before);
}
