#include "master/generation.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "master/affinity.hpp"

using namespace sluice;
using namespace sluice::master;

namespace {

Result<Generation> generation(const std::string& yaml) {
  auto node = conf::parse_node_config(yaml, "config.yaml", [](std::string_view) { return std::optional<std::string>(); });
  INFO(yaml);
  REQUIRE(node.has_value());
  return make_generation(std::move(*node), "key");
}

std::map<int, int> workers_by_cpu(const Generation& g) {
  std::map<int, int> count;
  for (const int cpu : g.cpus) ++count[cpu];
  return count;
}

}  // namespace

TEST_CASE("more workers than CPUs are pinned only where that is asked for", "[generation][affinity]") {
  const std::vector<int> allowed = allowed_cpus();
  const std::string twice = std::to_string(2 * allowed.size());
  std::map<int, int> two_each;
  for (const int cpu : allowed) two_each[cpu] = 2;
  CHECK(generation("sluice: {worker_processes: " + twice + "}")->cpus.empty());
  CHECK(workers_by_cpu(*generation("sluice: {cpu_affinity: auto, worker_processes: " + twice + "}")) == two_each);
  CHECK(workers_by_cpu(*generation("nginx_config: {enable_cpu_affinity: true, worker_processes: " + twice + "}")) == two_each);
  CHECK(generation("nginx_config: {enable_cpu_affinity: false}")->cpus.empty());
  CHECK(generation("sluice: {cpu_affinity: off, worker_processes: 1}")->cpus.empty());
  CHECK(generation("sluice: {worker_processes: 1}")->cpus == std::vector<int>{allowed.front()});
}

TEST_CASE("a listed CPU must lie inside the mask", "[generation][affinity]") {
  const int outside = allowed_cpus().back() + 1;
  const auto refused = generation("sluice: {cpu_affinity: [" + std::to_string(outside) + "]}");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message().find(std::to_string(outside)) != std::string::npos);
}

TEST_CASE("a pin that fails is told and changes nothing", "[affinity]") {
  const std::vector<int> before = allowed_cpus();
  CHECK_FALSE(pin_to(1023));
  CHECK(allowed_cpus() == before);
}
