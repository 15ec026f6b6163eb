// The error log: one line per event, no forged lines, repeats held back.
#include "conf/base/log.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

using namespace sluice;

namespace {

struct TempFolder {
  std::string path;
  TempFolder() {
    char name[] = "/tmp/sluice-log-XXXXXX";
    path = mkdtemp(name);
  }
  ~TempFolder() { std::filesystem::remove_all(path); }
};

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("lines of the error log", "[conf][log]") {
  TempFolder folder;
  const std::string file = folder.path + "/error.log";
  REQUIRE(log::open(file, log::Level::notice, "worker 3"));
  log::debug("hidden");
  log::error("first\nforged [crit] line");
  log::warn(std::string(10'000, 'x'));
  auto lines = lines_of(file);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("[error]") != std::string::npos);
  CHECK(lines[0].find("#worker 3: first forged [crit] line") != std::string::npos);
  CHECK(lines[1].size() < 4096);

  SECTION("reopening follows a renamed file") {
    std::filesystem::rename(file, file + ".1");
    REQUIRE(log::reopen());
    log::error("second");
    CHECK(lines_of(file).size() == 1);
  }
  SECTION("the same message over and over is held back and counted") {
    for (int i = 0; i < 1000; ++i) log::error("again");
    log::error("other");
    lines = lines_of(file);
    CHECK(lines.size() < 100);
    CHECK(lines.back().find("other") != std::string::npos);
    CHECK(lines[lines.size() - 2].find("repeated") != std::string::npos);
  }
  SECTION("what cannot be opened leaves the old target") {
    CHECK(!log::open(folder.path + "/no/such/folder/x", log::Level::notice, "worker 3"));
    log::error("still here");
    CHECK(lines_of(file).size() == 3);
  }
  REQUIRE(log::open("stderr", log::Level::error, "test"));
}

TEST_CASE("level names", "[conf][log]") {
  CHECK(log::parse_level("warn", log::Level::error) == log::Level::warn);
  CHECK(log::parse_level("loud", log::Level::error) == log::Level::error);
}
