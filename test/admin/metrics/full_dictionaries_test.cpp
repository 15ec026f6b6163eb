// When a full dictionary is told, and what is said.
#include "admin/metrics/full_dictionaries.hpp"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::admin;

namespace {

struct Fixture {
  shm::Stats stats{.bytes = 65536, .capacity = 100, .entries = 100};
  TimePoint now = from_ns(1'000'000'000);
  FullDictionaries watch{[](std::string_view name) { return "sluice.shared_dict." + std::string(name); }};

  std::vector<std::string> look() { return watch.look({{"d", stats}, {"other", {}}}, now); }
};

}  // namespace

TEST_CASE("a dictionary that evicts is told once a minute, with the key that raises it", "[metrics][full]") {
  Fixture f;
  f.stats.evictions = 7;
  CHECK(f.look().empty());  // the past
  f.now += seconds(1);
  f.stats.evictions = 12;
  CHECK(f.look() == std::vector<std::string>{"shared dictionary d is full (100 of 100 entries): 5 living entries were "
                                             "evicted; raise sluice.shared_dict.d in config.yaml"});
  for (int i = 0; i < 59; ++i) {
    f.now += seconds(1);
    ++f.stats.evictions;
    CHECK(f.look().empty());
  }
  f.now += seconds(1);
  const auto second = f.look();
  REQUIRE(second.size() == 1);
  CHECK(second[0].find(": 59 living entries were evicted") != std::string::npos);
  f.now += seconds(3600);
  CHECK(f.look().empty());
}

TEST_CASE("entries that cannot be admitted are told too", "[metrics][full]") {
  Fixture f;
  f.look();
  f.stats.refused = 3;
  const auto refused = f.look();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].find("entries): 3 could not be admitted; raise") != std::string::npos);
  f.now += FullDictionaries::kBetweenWarnings;
  f.stats.refused = 4;
  f.stats.evictions = 2;
  CHECK(f.look().at(0).find("): 2 living entries were evicted, 1 could not be admitted;") != std::string::npos);
}

TEST_CASE("room taken by what has expired is no reason to warn", "[metrics][full]") {
  Fixture f;
  f.look();
  f.stats.expired = 1000;
  CHECK(f.look().empty());
}
