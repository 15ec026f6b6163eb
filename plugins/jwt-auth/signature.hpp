// Verifier: one consumer's key and algorithm, ready to check signatures of tokens (RFC 7518) with OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "conf/base/result.hpp"
#include "plugins/sdk/arena.hpp"

struct evp_pkey_st;

namespace sluice::plugins::jwt_auth {

class Verifier {
 public:
  // `key`: the shared secret of HS algorithms, else a public key or certificate in PEM.
  // Error: `missing valid public key`.
  static Result<Verifier> compile(std::string_view algorithm, std::string_view key);

  const std::string& algorithm() const noexcept { return algorithm_; }
  bool verify(sdk::Arena& arena, std::string_view text, std::string_view signature) const noexcept;

 private:
  bool verify_public(std::string_view text, std::string_view signature) const noexcept;

  std::string algorithm_;  // "HS256"
  std::string secret_;
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace sluice::plugins::jwt_auth
