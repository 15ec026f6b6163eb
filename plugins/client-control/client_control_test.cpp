#include "plugins/client-control/client_control.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::client_control::ClientControl;
using test::Kit;

TEST_CASE("client-control bounds bodies", "[plugins][client-control]") {
  const auto asked = [](const char* conf, const char* length) {
    auto plugin = test::configured<ClientControl>(conf);
    REQUIRE(plugin.has_value());
    Kit kit("/hello", "POST");
    if (length != nullptr) kit.header("Content-Length", length);
    const auto verdict = kit.rewrite(*plugin);
    return std::pair(verdict.status, kit.ctx.request_body_limit);
  };
  using Limit = std::optional<std::uint64_t>;
  CHECK(asked(R"({"max_body_size":5})", "6") == std::pair(std::uint16_t{413}, Limit(5)));
  CHECK(asked(R"({"max_body_size":5})", "5") == std::pair(std::uint16_t{0}, Limit(5)));
  CHECK(asked(R"({"max_body_size":5})", nullptr) == std::pair(std::uint16_t{0}, Limit(5)));
  CHECK(asked(R"({"max_body_size":0})", "99999999") == std::pair(std::uint16_t{0}, Limit(0)));
  CHECK(asked("{}", "6") == std::pair(std::uint16_t{0}, Limit()));
}
