// See upstream_names.hpp.
#include "admin/bus/upstream_names.hpp"

#include <algorithm>

#include "conf/base/cidr.hpp"
#include "conf/base/json.hpp"
#include "conf/base/text.hpp"

namespace sluice::admin {
namespace {

// "name", "name:port", "1.2.3.4:80", "[::1]:80", "unix:/path" -> the host alone.
std::string_view host_of(std::string_view node) noexcept {
  if (node.starts_with('[')) return node.substr(0, node.find(']') + 1);
  if (std::count(node.begin(), node.end(), ':') != 1) return node;  // a bare IPv6 address, or no port
  return node.substr(0, node.find(':'));
}

void add(std::string_view host, std::vector<std::string>& names) {
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.empty() || host.starts_with("unix:") || host.starts_with('/') || parse_ip(host)) return;
  if (host.size() > 253) return;
  names.push_back(text::to_lower(host));
}

bool is_zero(const Json* weight) noexcept { return weight && weight->IsNumber() && weight->GetDouble() == 0; }

// A node of weight 0 is parked: its name is not needed, unless no other node is there.
void add_nodes(const Json& nodes, std::vector<std::string>& names) {
  std::vector<std::string> parked;
  const std::size_t before = names.size();
  std::size_t in_use = 0;
  if (nodes.IsObject()) {
    for (const auto& member : nodes.GetObject()) {
      const std::string_view key = text_of(member.name);
      const bool zero = is_zero(&member.value);
      if (!zero) ++in_use;
      if (!key.starts_with("unix:")) add(host_of(key), zero ? parked : names);
    }
  } else if (nodes.IsArray()) {
    for (const Json& node : nodes.GetArray()) {
      const bool zero = is_zero(find(node, "weight"));
      if (!zero) ++in_use;
      if (const Json* host = find(node, "host")) add(text_of(*host), zero ? parked : names);
    }
  }
  if (in_use == 0 && names.size() == before) names.insert(names.end(), parked.begin(), parked.end());
}

// Depth is bounded by the parser's limit.
void walk(const Json& value, std::vector<std::string>& names) {
  if (value.IsObject()) {
    for (const auto& member : value.GetObject()) {
      if (text_of(member.name) == "nodes") add_nodes(member.value, names);
      else walk(member.value, names);
    }
  } else if (value.IsArray()) {
    for (const Json& item : value.GetArray()) walk(item, names);
  }
}

}  // namespace

std::vector<std::string> upstream_names(std::string_view object_json) {
  std::vector<std::string> names;
  if (object_json.find("\"nodes\"") == std::string_view::npos) return names;
  const auto document = parse_json(object_json);
  if (!document) return names;
  walk(*document, names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace sluice::admin
