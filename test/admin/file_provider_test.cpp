// The standalone file: end flag, reload, broken content, unknown plugins.
#include <sys/stat.h>
#include <sys/time.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "admin/store/file_provider.hpp"
#include "shm/catalog.hpp"
#include "test/admin/support.hpp"

using namespace sluice;
using namespace sluice::admin;

namespace {

struct Fixture {
  explicit Fixture(conf::StandaloneFormat format = conf::StandaloneFormat::yaml)
      : path(dir.file("apisix.yaml")),
        checker(image, keys, sdk::EnabledPlugins(), sdk::PluginHost{catalog.get()}, {}),
        provider({path, {}, format, [](std::string_view) { return std::optional<std::string>(); }}, image, checker) {}

  // Each version of the file gets a modification time of its own, so that no test has to wait for the clock.
  void write(const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
    ++age;
    const timeval times[2] = {{1'700'000'000 + age, 0}, {1'700'000'000 + age, 0}};
    REQUIRE(::utimes(path.c_str(), times) == 0);
  }
  std::string keys_in_force() const {
    std::string out;
    for (const auto& c : provider.everything()) out += conf::join_key(c.kind, c.id) + " ";
    return out;
  }

  test::TempDir dir;
  std::string path;
  long age = 0;
  std::unique_ptr<shm::Catalog> catalog = shm::Catalog::create_for_test();
  Image image;
  KeyIndex keys;
  Checker checker;
  FileProvider provider;
};

constexpr const char* kGood = "routes:\n  - id: 1\n    uri: /a\n    upstream_id: 9\n#END\n";

}  // namespace

TEST_CASE("a file without its end flag is not loaded, then it is", "[admin][file]") {
  Fixture f;
  f.write("routes:\n  - id: 1\n    uri: /a\n    plugins: {}\n");
  CHECK_FALSE(f.provider.poll());
  CHECK_FALSE(f.provider.loaded());
  f.write(kGood);
  CHECK(f.provider.poll());
  CHECK(f.keys_in_force() == "routes/1 ");
  CHECK(f.provider.everything()[0].modified == 1'700'000'002);
  CHECK_FALSE(f.provider.poll());
}

TEST_CASE("a broken file leaves the old content in force", "[admin][file]") {
  Fixture f;
  f.write(kGood);
  REQUIRE(f.provider.poll());
  f.write("routes: [ {\n#END\n");
  CHECK_FALSE(f.provider.poll());
  CHECK(f.keys_in_force() == "routes/1 ");
  CHECK(f.image.find_committed("routes/1") != nullptr);
}

TEST_CASE("an object that is not valid is left out, the others stay", "[admin][file]") {
  Fixture f;
  f.write(
      "routes:\n  - id: 1\n    uri: /a\n    plugins: {key-auht: {}}\n  - id: 2\n    uri: 5\n    plugins: {}\n"
      "  - id: 3\n    uri: /c\n    plugins: {}\n"
      "  - id: 4\n    uri: /d\n    plugins: {limit-count: {count: 0, time_window: 60}}\n#END\n");
  REQUIRE(f.provider.poll());
  CHECK(f.keys_in_force() == "routes/3 ");
}

TEST_CASE("what a new file does not name is gone", "[admin][file]") {
  Fixture f;
  f.write("routes:\n  - id: 1\n    uri: /a\n    plugins: {}\nservices:\n  - id: 5\n#END\n");
  REQUIRE(f.provider.poll());
  CHECK(f.keys_in_force() == "routes/1 services/5 ");
  f.write("services:\n  - id: 5\n#END\n");
  REQUIRE(f.provider.poll());
  CHECK(f.keys_in_force() == "services/5 ");
  CHECK(f.image.size() == 1);
}

TEST_CASE("a change that leaves the modification time is no reload; a missing file is none either", "[admin][file]") {
  Fixture f;
  CHECK_FALSE(f.provider.poll());
  f.write(kGood);
  REQUIRE(f.provider.poll());
  --f.age;
  f.write("#END\n");
  CHECK_FALSE(f.provider.poll());
  ::unlink(f.path.c_str());
  CHECK_FALSE(f.provider.poll());
  CHECK(f.keys_in_force() == "routes/1 ");
}
