// The part of a path below /apisix/admin/ that names a resource.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/model/kinds.hpp"

namespace sluice::admin {

struct ResourcePath {
  conf::Kind kind = conf::Kind::route;
  std::string parent;            // credentials, cost decorations: the consumer's or service's id; secrets: the manager
  std::string id;                // bare; empty when the path ends before it
  std::vector<std::string> sub;  // further segments (sub-path of PATCH)

  // "jack/credentials/a", "vault/1", "1" for a bare id.
  std::string full_id(std::string_view bare) const;
};

// Segments of a path, percent-decoded; one trailing slash is ignored.
std::vector<std::string> segments_of(std::string_view path);

// Nothing: the first segment is no collection.
std::optional<ResourcePath> resource_path(const std::vector<std::string>& segments);

}  // namespace sluice::admin
