// NameTable: which upstreams wait for the addresses of which names.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "worker/live/records.hpp"

namespace sluice::live {

class NameTable {
 public:
  using OnName = std::function<void(std::string_view name, bool needed)>;

  // Gives an upstream what is known of its names already. Registers nothing.
  void fill(Upstream& upstream) const {
    for (const std::string& name : upstream.names())
      if (const auto hit = names_.find(name); hit != names_.end() && hit->second.answer)
        upstream.set_addresses(name, *hit->second.answer);
  }

  void add(Upstream& upstream, const OnName& on_name) {
    for (const std::string& name : upstream.names()) {
      const auto [entry, fresh] = names_.try_emplace(name);
      entry->second.users.insert(&upstream);
      if (fresh && on_name) on_name(name, true);
    }
    fill(upstream);
  }

  void remove(Upstream& upstream, const OnName& on_name) {
    for (const std::string& name : upstream.names()) {
      const auto entry = names_.find(name);
      if (entry == names_.end()) continue;
      entry->second.users.erase(&upstream);
      if (!entry->second.users.empty()) continue;
      names_.erase(entry);
      if (on_name) on_name(name, false);
    }
  }

  void set(std::string_view name, std::span<const IpAddress> addresses) {
    const auto entry = names_.find(name);
    if (entry == names_.end()) return;
    entry->second.answer.emplace(addresses.begin(), addresses.end());
    for (Upstream* user : entry->second.users) user->set_addresses(name, addresses);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, entry] : names_) all.push_back(name);
    return all;
  }

 private:
  struct Entry {
    std::unordered_set<Upstream*> users;
    std::optional<std::vector<IpAddress>> answer;
  };
  TextMap<Entry> names_;
};

}  // namespace sluice::live
