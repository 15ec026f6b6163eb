// The table of kinds, and keys.
#include "conf/model/kinds.hpp"

#include <array>

#include "conf/base/text.hpp"

namespace sluice::conf {
namespace {

//                 kind                    collection                   word                       schema name parent
//                 post   patch  sub    id     times  standalone
constexpr std::array<KindInfo, kKindCount> kKinds = {{
    {Kind::route, "routes", "route", "route", "", true, true, true, true, true, true},
    {Kind::service, "services", "service", "service", "", true, true, true, true, true, true},
    {Kind::upstream, "upstreams", "upstream", "upstream", "", true, true, true, true, true, true},
    {Kind::consumer, "consumers", "consumer", "consumer", "", false, false, false, false, true, true},
    {Kind::credential, "credentials", "credential", "credential", "consumers", false, false, false, true, true, false},
    {Kind::consumer_group, "consumer_groups", "consumer group", "consumer_group", "", false, true, true, true, true,
     true},
    {Kind::global_rule, "global_rules", "global rule", "global_rule", "", false, true, true, true, true, true},
    {Kind::plugin_config, "plugin_configs", "plugin config", "plugin_config", "", false, true, true, true, true, true},
    {Kind::plugin_metadata, "plugin_metadata", "plugin_metadata", "plugin_metadata", "", false, false, false, false,
     false, true},
    {Kind::ssl, "ssls", "ssl", "ssl", "", true, true, true, true, true, true},
    {Kind::proto, "protos", "proto", "proto", "", true, false, false, true, true, true},
    {Kind::stream_route, "stream_routes", "stream route", "stream_route", "", true, false, false, true, true, true},
    {Kind::secret, "secrets", "secret", "secret", "", false, true, true, true, true, true},
    {Kind::cost_decoration, "graphql_cost_decorations", "graphql cost decoration", "graphql_cost_decoration",
     "services", true, true, false, true, true, false},
    {Kind::plugins, "plugins", "plugins", "plugins", "", false, false, false, false, false, true},
}};

}  // namespace

const KindInfo& info(Kind kind) noexcept { return kKinds[static_cast<std::size_t>(kind) % kKindCount]; }
std::span<const KindInfo> all_kinds() noexcept { return kKinds; }

std::optional<Kind> kind_of_collection(std::string_view collection) noexcept {
  for (const auto& k : kKinds)
    if (k.collection == collection) return k.kind;
  return std::nullopt;
}

std::optional<Kind> kind_of_schema(std::string_view schema_name) noexcept {
  for (const auto& k : kKinds)
    if (k.schema_name == schema_name) return k.kind;
  return std::nullopt;
}

std::optional<KindAndId> split_key(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos || slash + 1 == key.size()) return std::nullopt;
  const auto kind = kind_of_collection(key.substr(0, slash));
  if (!kind || !info(*kind).parent.empty()) return std::nullopt;
  const std::string_view id = key.substr(slash + 1);
  for (Kind nested : {Kind::credential, Kind::cost_decoration})
    if (info(nested).collection.size() + 2 < id.size() && info(nested).parent == info(*kind).collection &&
        id.find("/" + std::string(info(nested).collection) + "/") != std::string_view::npos)
      return KindAndId{nested, std::string(id)};
  return KindAndId{*kind, std::string(id)};
}

std::string join_key(Kind kind, std::string_view id) {
  const KindInfo& k = info(kind);
  return std::string(k.parent.empty() ? k.collection : k.parent) + "/" + std::string(id);
}

bool valid_id(std::string_view id) noexcept {
  if (id.empty() || id.size() > 64) return false;
  for (char c : id) {
    const bool letter = text::lower(c) >= 'a' && text::lower(c) <= 'z';
    if (!letter && !text::is_digit(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

std::string id_text(const Json& value) {
  if (value.IsString()) return {value.GetString(), value.GetStringLength()};
  if (value.IsNumber()) return to_json(value);
  return {};
}

}  // namespace sluice::conf
