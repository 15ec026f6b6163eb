// The list of plugin types. Generated from the folders below plugins/; see plugins/CMakeLists.txt.
#include "plugins/sdk/registry.hpp"

#include <algorithm>

#include "plugins/registry_includes.inc"
#include "plugins/sdk/known_names.hpp"

namespace sluice::sdk {

namespace {

constexpr Traits kTraits[] = {
#define SLUICE_PLUGIN(folder) ::sluice::plugins::folder::Plugin::kTraits,
#include "plugins/registry_entries.inc"
#undef SLUICE_PLUGIN
    Traits{},  // the list may be empty
};
constexpr std::size_t kBuilt = std::size(kTraits) - 1;

constexpr bool all_differ() {
  for (std::size_t i = 0; i < kBuilt; ++i)
    for (std::size_t j = i + 1; j < kBuilt; ++j)
      if (kTraits[i].name == kTraits[j].name || kTraits[i].priority == kTraits[j].priority) return false;
  return true;
}
static_assert(all_differ(), "two plugins have the same name or the same priority");

std::vector<PluginType> make_all() {
  std::vector<PluginType> all;
  all.reserve(kBuilt);
#define SLUICE_PLUGIN(folder) all.push_back(make_plugin_type<::sluice::plugins::folder::Plugin>());
#include "plugins/registry_entries.inc"
#undef SLUICE_PLUGIN
  std::sort(all.begin(), all.end(),
            [](const PluginType& a, const PluginType& b) { return a.traits.priority > b.traits.priority; });
  return all;
}

const std::vector<PluginType>& all() {
  static const std::vector<PluginType> types = make_all();
  return types;
}

}  // namespace

std::span<const PluginType> all_plugins() noexcept { return all(); }

const PluginType* find_plugin(std::string_view name) noexcept {
  for (const PluginType& t : all())
    if (t.traits.name == name) return &t;
  return nullptr;
}

bool known_but_not_built(std::string_view name) noexcept {
  return std::find(std::begin(kKnownNames), std::end(kKnownNames), name) != std::end(kKnownNames) &&
         find_plugin(name) == nullptr;
}

const PublicApi* find_public_api(std::string_view method, std::string_view uri) noexcept {
  for (const PluginType& t : all())
    for (const PublicApi& api : t.public_apis)
      if (api.method == method && !uri.empty() && (api.uri_now ? api.uri_now() : api.uri) == uri) return &api;
  return nullptr;
}

EnabledPlugins::EnabledPlugins() {
  for (const PluginType& t : all()) types_.push_back(&t);
  std::sort(types_.begin(), types_.end(),
            [](const PluginType* a, const PluginType* b) { return a->traits.name < b->traits.name; });
}

EnabledPlugins::EnabledPlugins(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const PluginType* t = find_plugin(name)) types_.push_back(t);
    else unbuilt_.push_back(name);
  }
  std::sort(types_.begin(), types_.end(),
            [](const PluginType* a, const PluginType* b) { return a->traits.name < b->traits.name; });
  types_.erase(std::unique(types_.begin(), types_.end()), types_.end());
}

const PluginType* EnabledPlugins::find(std::string_view name) const noexcept {
  const auto at = std::lower_bound(types_.begin(), types_.end(), name,
                                   [](const PluginType* t, std::string_view n) { return t->traits.name < n; });
  return at != types_.end() && (*at)->traits.name == name ? *at : nullptr;
}

std::vector<std::string_view> EnabledPlugins::names_by_priority() const {
  std::vector<const PluginType*> sorted = types_;
  std::sort(sorted.begin(), sorted.end(),
            [](const PluginType* a, const PluginType* b) { return a->traits.priority > b->traits.priority; });
  std::vector<std::string_view> names;
  for (const PluginType* t : sorted) names.push_back(t->traits.name);
  return names;
}

}  // namespace sluice::sdk
