#include "master/options.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace sluice::master;

namespace {
sluice::Result<Options> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "sluice");
  return parse_options(static_cast<int>(words.size()), words.data());
}
}  // namespace

TEST_CASE("the command line", "[options]") {
  CHECK(parse({})->action == Options::Action::run);
  CHECK(parse({"-t", "-c", "x.yaml"})->config_file == "x.yaml");
  CHECK(parse({"-s", "reload", "-p", "/p"})->signal_name == "reload");
  CHECK(parse({"-p", "/p"})->prefix_given);
  CHECK(parse({"-v"})->action == Options::Action::version);
  CHECK(parse({"-h"})->action == Options::Action::help);
}

TEST_CASE("a wrong word says what was expected", "[options]") {
  CHECK(parse({"-c"}).error().reason == "expected a file name after -c");
  CHECK(parse({"-p", ""}).error().reason == "expected a folder after -p");
  CHECK(parse({"-s", "restart"}).error().reason ==
        "expected stop, quit, reload, reopen or upgrade after -s, found 'restart'");
  CHECK(parse({"--frobnicate"}).error().reason == "unknown word '--frobnicate' on the command line");
}
