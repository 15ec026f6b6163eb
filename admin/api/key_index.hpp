// KeyIndex: which consumer or credential holds which authentication key.
//
// Kept from the image's changes, so that a write needs one look-up however many consumers there are. Secret references
// are not compared.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/store/image.hpp"

namespace sluice::admin {

class KeyIndex final : public ImageObserver {
 public:
  void changed(const std::string& key, const Object* before, const Object* after) override;

  // `duplicate <field> of plugin <plugin> found with consumer: <name>` (or `credential: <id> of consumer: <name>`), or
  // nothing. `key` is the object about to be written; a consumer does not conflict with its own credentials.
  std::string conflict(std::string_view key, const Json& value) const;

 private:
  struct Identity {
    std::string plugin;
    std::string field;
    std::string value;
  };
  static std::vector<Identity> identities(const Json& value);

  std::map<std::pair<std::string, std::string>, std::set<std::string>> holders_;  // (plugin, value) -> keys of objects
};

}  // namespace sluice::admin
