// Sealer: which members of a stored object are secret, and their way to and from the at-rest form.
//
// Secret are: private keys of ssls and of upstreams (always, while there is a keyring), and the fields that a plugin's
// schema declares as encrypted (when `encrypt_fields` is on). In memory everything is plain; only what goes to the
// store, and what write answers show, is sealed. Secret references (`$secret://…`, `$env://…`) are no secrets.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "admin/store/image.hpp"
#include "admin/store/keyring.hpp"
#include "conf/model/kinds.hpp"

namespace sluice::admin {

class Sealer {
 public:
  Sealer(Keyring keyring, bool encrypt_fields) : keyring_(std::move(keyring)), encrypt_fields_(encrypt_fields) {}

  void seal(conf::Kind kind, std::string_view id, Json& value, JsonDoc::AllocatorType& alloc) const;
  void unseal(conf::Kind kind, std::string_view id, Json& value, JsonDoc::AllocatorType& alloc) const;

  // The private keys alone: what clients may send back in sealed form is opened, PEM stays.
  void open_keys(conf::Kind kind, Json& value, JsonDoc::AllocatorType& alloc) const;
  // What GET shows of a plain value: ssl keys are left out, upstream keys are sealed.
  void redact(conf::Kind kind, Json& value, JsonDoc::AllocatorType& alloc) const;

  const Keyring& keyring() const noexcept { return keyring_; }

 private:
  enum class Way { in, out };
  void plugins(Json& plugins, bool consumer, Way way, JsonDoc::AllocatorType& alloc) const;
  void fields(Json& conf, const std::vector<std::string>& paths, Way way, JsonDoc::AllocatorType& alloc) const;
  void field(Json& at, std::string_view path, Way way, JsonDoc::AllocatorType& alloc) const;
  void turn(Json& text, Way way, JsonDoc::AllocatorType& alloc) const;
  void all(conf::Kind kind, std::string_view id, Json& value, Way way, JsonDoc::AllocatorType& alloc) const;
  void keys(conf::Kind kind, Json& value, Way way, JsonDoc::AllocatorType& alloc) const;
  const std::vector<std::string>& paths_of(std::string_view plugin, int which) const;

  Keyring keyring_;
  bool encrypt_fields_;
  mutable std::map<std::pair<std::string, int>, std::vector<std::string>>
      paths_;  // by plugin and schema, made at first use
};

}  // namespace sluice::admin
