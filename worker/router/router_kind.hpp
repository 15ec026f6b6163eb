// The three HTTP routers (`apisix.router.http`).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::router {

enum class RouterKind : std::uint8_t {
  host_uri,            // radixtree_host_uri: the host decides first
  uri,                 // radixtree_uri: the path decides first, the host is a condition
  uri_with_parameter,  // the same, with `:name` segments
};

constexpr std::optional<RouterKind> parse_router_kind(std::string_view name) noexcept {
  if (name == "radixtree_host_uri") return RouterKind::host_uri;
  if (name == "radixtree_uri") return RouterKind::uri;
  if (name == "radixtree_uri_with_parameter") return RouterKind::uri_with_parameter;
  return std::nullopt;
}

}  // namespace sluice::router
