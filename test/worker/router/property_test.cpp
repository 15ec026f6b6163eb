// The router against the model, over random edits. SLUICE_ROUTER_SEED repeats a failure; SLUICE_ROUTER_SECONDS runs longer.
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <random>

#include "test/worker/router/edit_script.hpp"

using namespace sluice;
using namespace sluice::router;

TEST_CASE("after any edits the router answers like the model and equals a tree built from scratch", "[router][property]") {
  const char* seed_text = std::getenv("SLUICE_ROUTER_SEED");
  const char* seconds_text = std::getenv("SLUICE_ROUTER_SECONDS");
  const double budget = seconds_text ? std::atof(seconds_text) : 2.0;
  std::uint64_t seed = seed_text ? std::strtoull(seed_text, nullptr, 10) : std::random_device{}();
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(budget);
  do {
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> octets(64 + random() % 8192);
    for (auto& o : octets) o = static_cast<std::uint8_t>(random());
    INFO("SLUICE_ROUTER_SEED=" << seed);
    const std::string wrong = test::EditScript(octets).run();
    REQUIRE(wrong == "");
    seed = random();
  } while (!seed_text && std::chrono::steady_clock::now() < end);
}
