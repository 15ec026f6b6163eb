#include "admin/api/resource_path.hpp"

#include "conf/base/text.hpp"

namespace sluice::admin {

using conf::Kind;

std::string ResourcePath::full_id(std::string_view bare) const {
  switch (kind) {
    case Kind::credential:
      return parent + "/credentials/" + std::string(bare);
    case Kind::cost_decoration:
      return parent + "/graphql_cost_decorations/" + std::string(bare);
    case Kind::secret:
      return parent + "/" + std::string(bare);
    default:
      return std::string(bare);
  }
}

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> out;
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty()) return out;
  for (std::string_view part : text::split(path, '/')) out.push_back(text::percent_decode(part));
  return out;
}

std::optional<ResourcePath> resource_path(const std::vector<std::string>& s) {
  if (s.empty()) return std::nullopt;
  const auto kind = conf::kind_of_collection(s[0]);
  if (!kind || *kind == Kind::plugins || !conf::info(*kind).parent.empty()) return std::nullopt;
  ResourcePath out;
  out.kind = *kind;
  std::size_t at = 1;  // of the id
  const auto nested = [&](Kind parent, std::string_view collection, Kind child) {
    if (*kind != parent || s.size() < 3 || s[2] != collection) return;
    out.kind = child;
    out.parent = s[1];
    at = 3;
  };
  nested(Kind::consumer, "credentials", Kind::credential);
  nested(Kind::service, "graphql_cost_decorations", Kind::cost_decoration);
  if (*kind == Kind::secret) {
    if (s.size() > 1) out.parent = s[1];
    at = 2;
  }
  if (s.size() > at) out.id = s[at];
  for (std::size_t i = at + 1; i < s.size(); ++i) out.sub.push_back(s[i]);
  return out;
}

}  // namespace sluice::admin
