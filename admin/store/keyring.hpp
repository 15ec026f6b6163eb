// Keyring: encryption of secret fields at rest.
//
// AES in CBC mode, base64 around it; a key of 16 octets is AES-128, one of 32 AES-256, and the key is the
// initialisation vector too (its first 16 octets), as the file format of existing installations has it. The first key
// encrypts, all of them decrypt. Text that no key decrypts is given back as it is: it was never encrypted.
// Encryption is deterministic, so the same secret always has the same cipher text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/result.hpp"

namespace sluice::admin {

class Keyring {
 public:
  Keyring() = default;  // empty: encrypts nothing

  // Error: a key that has neither 16 nor 32 octets (its text is not repeated).
  static Result<Keyring> make(std::vector<std::string> keys);
  // The keyring of this installation: read from `file`, made and stored there (mode 0600) at first start.
  static Result<Keyring> load_or_create(const std::string& file);

  bool empty() const noexcept { return keys_.empty(); }
  std::string encrypt(std::string_view plain) const;                  // as given when the keyring is empty
  std::optional<std::string> decrypt(std::string_view cipher) const;  // nothing when no key fits
  std::string decrypt_or_same(std::string_view cipher) const;

 private:
  std::vector<std::string> keys_;
};

}  // namespace sluice::admin
