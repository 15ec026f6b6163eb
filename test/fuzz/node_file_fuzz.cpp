// The node file and the standalone document: any octets give a configuration or an error that says where.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "conf/node_config.hpp"
#include "conf/standalone.hpp"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 20000) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const conf::Environment none = [](std::string_view name) -> std::optional<std::string> {
    if (name == "P") return "9082";
    return std::nullopt;
  };
  auto node = conf::parse_node_config(text, "fuzz.yaml", none);
  if (!node && node.error().message().empty()) std::abort();
  for (const auto format : {conf::StandaloneFormat::yaml, conf::StandaloneFormat::json}) {
    conf::StandaloneOptions options;
    options.format = format;
    options.needs_end_flag = false;
    auto document = conf::parse_standalone(text, "fuzz", none, options);
    if (!document && document.error().message().empty()) std::abort();
  }
  return 0;
}
