// The shipped node file and every example load, and what the shipped file comments out is true.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "conf/base/yaml.hpp"
#include "conf/model/model.hpp"
#include "conf/node_config.hpp"
#include "conf/standalone.hpp"

using namespace sluice;
using namespace sluice::conf;

namespace {

const std::string kConf = std::string(SLUICE_SOURCE_DIR) + "/conf/";
const Environment kNothing = [](std::string_view) -> std::optional<std::string> { return std::nullopt; };

std::string slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void same_listeners(const NodeConfig& a, const NodeConfig& b) {
  CHECK(a.apisix.listen == b.apisix.listen);
  CHECK(a.admin.listen == b.admin.listen);
  CHECK(a.apisix.control == b.apisix.control);
  CHECK(a.plugins == b.plugins);
  CHECK(a.nginx.keepalive_timeout == b.nginx.keepalive_timeout);
  CHECK(a.provider == b.provider);
}

}  // namespace

TEST_CASE("the shipped node file equals the built-in defaults", "[conf][examples]") {
  const auto shipped = load_node_config(kConf + "config.yaml", kNothing);
  INFO((shipped ? std::string() : shipped.error().message()));
  REQUIRE(shipped.has_value());
  CHECK(shipped->warnings.empty());
  same_listeners(*shipped, *load_node_config("", kNothing));
}

// Takes one "#" away from every line that looks like YAML: the whole file must still be known keys with valid values.
TEST_CASE("every commented key of the shipped node file is known", "[conf][examples]") {
  std::istringstream in(slurp(kConf + "config.yaml"));
  std::string line, text;
  bool head = true;
  while (std::getline(in, line)) {
    head = head && !line.empty();
    const auto hash = line.find_first_not_of(' ');
    if (!head && hash != std::string::npos && line[hash] == '#') {
      line.erase(hash, 1);
      if (hash < line.size() && line[hash] == ' ') line.erase(hash, 1);
    }
    text += line + "\n";
  }
  auto document = parse_yaml(text);
  INFO(text);
  INFO((document ? std::string() : document.error().message()));
  REQUIRE(document.has_value());
  const auto all = parse_node_config(text, "config.yaml", kNothing);
  INFO((all ? std::string() : all.error().message()));
  REQUIRE(all.has_value());
  for (const auto& w : all->warnings) UNSCOPED_INFO(w);
  CHECK(all->warnings.empty());
}

TEST_CASE("every example loads", "[conf][examples]") {
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConf + "examples")) {
    const std::string path = entry.path().string();
    const std::string name = entry.path().filename().string();
    INFO(path);
    ++seen;
    if (name == "apisix.yaml") {
      auto doc = parse_standalone(slurp(path), path, kNothing, {});
      REQUIRE(doc.has_value());
      CHECK(doc->errors.empty());
      CHECK(doc->unknown_sections.empty());
      for (const auto& item : doc->items) {
        JsonDoc copy;
        static_cast<Json&>(copy) = copy_json(item.value.get(), copy.GetAllocator());
        CHECK(check_all(item.kind, copy, copy.GetAllocator(), true) == "");
      }
    } else if (entry.path().extension() == ".yaml") {
      auto node = load_node_config(path, kNothing);
      INFO((node ? std::string() : node.error().message()));
      REQUIRE(node.has_value());
      CHECK(node->warnings.empty());
    } else {
      auto doc = parse_json(slurp(path));
      REQUIRE(doc.has_value());
      const Kind kind = name.find("upstream") != std::string::npos ? Kind::upstream : Kind::route;
      CHECK(check_all(kind, *doc, doc->GetAllocator(), true) == "");
    }
  }
  CHECK(seen >= 6);
}
