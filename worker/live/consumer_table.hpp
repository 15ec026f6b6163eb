// ConsumerTable: who has which key, per authentication plugin; what authentication plugins search.
//
// Identities point to the current sdk::Consumer of their owner. When two objects claim the same value of the same plugin
// (validation refuses it, a file may still say so) the one that came first keeps it, and the other takes over when it goes.
#pragma once

#include <list>
#include <string>
#include <string_view>

#include "plugins/sdk/consumer.hpp"
#include "worker/live/records.hpp"

namespace sluice::live {

class ConsumerTable final : public sdk::ConsumerIndex {
 public:
  const sdk::Identity* find(std::string_view plugin, std::string_view key) const noexcept override;
  sdk::Ref<const sdk::Consumer> by_name(std::string_view name) const noexcept override;

  // Makes the consumer anew from its record, its group and its credentials, and enters it under all their keys.
  // Returns the keys that somebody else has already, as "plugin key of <name>" texts.
  std::vector<std::string> enter(ConsumerRecord& record);
  void remove(ConsumerRecord& record);                       // under all keys; also of its credentials
  void remove_credential(const CredentialRecord& credential);
  std::size_t keys() const noexcept { return keys_; }

 private:
  struct Entry {
    const Record* owner;      // the consumer or the credential
    sdk::Identity identity;
  };
  using Entries = TextMap<std::list<Entry>>;

  bool add(const AuthKey& key, const Record& owner, sdk::Identity identity);   // false: somebody was there before
  void remove_keys(const std::vector<AuthKey>& keys, const Record& owner);

  std::unordered_map<std::string_view, Entries> plugins_;
  TextMap<sdk::Ref<const sdk::Consumer>> names_;
  std::size_t keys_ = 0;
};

}  // namespace sluice::live
