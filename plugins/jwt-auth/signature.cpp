#include "plugins/jwt-auth/signature.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <optional>
#include <vector>

#include "conf/base/constant_time.hpp"
#include "plugins/sdk/digest.hpp"

namespace sluice::plugins::jwt_auth {

namespace {

struct FreeBio {
  void operator()(BIO* p) const noexcept { ::BIO_free(p); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* p) const noexcept { ::EVP_MD_CTX_free(p); }
};
struct FreeSignature {
  void operator()(ECDSA_SIG* p) const noexcept { ::ECDSA_SIG_free(p); }
};
struct FreeCertificate {
  void operator()(X509* p) const noexcept { ::X509_free(p); }
};

sdk::Hash hash_of(std::string_view algorithm) noexcept {
  if (algorithm.ends_with("384")) return sdk::Hash::sha384;
  return algorithm.ends_with("512") ? sdk::Hash::sha512 : sdk::Hash::sha256;
}

const EVP_MD* method_of(std::string_view algorithm) noexcept {
  switch (hash_of(algorithm)) {
    case sdk::Hash::sha384:
      return ::EVP_sha384();
    case sdk::Hash::sha512:
      return ::EVP_sha512();
    default:
      return ::EVP_sha256();
  }
}

EVP_PKEY* read_key(std::string_view pem) noexcept {
  const std::unique_ptr<BIO, FreeBio> bio(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!bio) return nullptr;
  if (EVP_PKEY* key = ::PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr)) return key;
  const std::unique_ptr<BIO, FreeBio> again(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!again) return nullptr;
  const std::unique_ptr<X509, FreeCertificate> certificate(::PEM_read_bio_X509(again.get(), nullptr, nullptr, nullptr));
  return certificate ? ::X509_get_pubkey(certificate.get()) : nullptr;
}

int type_for(std::string_view algorithm) noexcept {
  if (algorithm.starts_with("ES")) return EVP_PKEY_EC;
  if (algorithm.starts_with("Ed")) return EVP_PKEY_ED25519;
  return EVP_PKEY_RSA;
}

// The two halves of an ES signature as OpenSSL wants them. Each algorithm has its own length.
std::optional<std::vector<unsigned char>> to_der(std::string_view algorithm, std::string_view signature) noexcept {
  const std::size_t length = algorithm == "ES256" ? 64 : algorithm == "ES384" ? 96 : 132;
  if (signature.size() != length) return std::nullopt;
  const auto* octets = reinterpret_cast<const unsigned char*>(signature.data());
  const int half = static_cast<int>(length / 2);
  const std::unique_ptr<ECDSA_SIG, FreeSignature> both(::ECDSA_SIG_new());
  BIGNUM* r = ::BN_bin2bn(octets, half, nullptr);
  BIGNUM* s = ::BN_bin2bn(octets + half, half, nullptr);
  if (!both || r == nullptr || s == nullptr || ::ECDSA_SIG_set0(both.get(), r, s) != 1) {
    ::BN_free(r);
    ::BN_free(s);
    return std::nullopt;
  }
  unsigned char* der = nullptr;
  const int size = ::i2d_ECDSA_SIG(both.get(), &der);
  if (size <= 0) return std::nullopt;
  std::vector<unsigned char> out(der, der + size);
  ::OPENSSL_free(der);
  return out;
}

}  // namespace

Result<Verifier> Verifier::compile(std::string_view algorithm, std::string_view key) {
  Verifier made;
  made.algorithm_ = algorithm;
  if (algorithm.starts_with("HS")) {
    made.secret_ = key;
    return made;
  }
  EVP_PKEY* read = read_key(key);
  if (read == nullptr) return invalid("missing valid public key");
  made.key_ = std::shared_ptr<EVP_PKEY>(read, [](EVP_PKEY* p) { ::EVP_PKEY_free(p); });
  const int type = ::EVP_PKEY_base_id(read);
  const bool fits = type == type_for(algorithm) || (algorithm == "EdDSA" && type == EVP_PKEY_ED448);
  if (!fits) return invalid("missing valid public key");
  return made;
}

bool Verifier::verify(sdk::Arena& arena, std::string_view text, std::string_view signature) const noexcept {
  if (key_ != nullptr) return verify_public(text, signature);
  const std::string_view expected = sdk::hmac(arena, hash_of(algorithm_), secret_, text);
  return !expected.empty() && equal_constant_time(signature, expected);
}

bool Verifier::verify_public(std::string_view text, std::string_view signature) const noexcept {
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(::EVP_MD_CTX_new());
  EVP_PKEY_CTX* settings = nullptr;
  const EVP_MD* method = algorithm_ == "EdDSA" ? nullptr : method_of(algorithm_);
  if (!context || ::EVP_DigestVerifyInit(context.get(), &settings, method, nullptr, key_.get()) != 1) return false;
  if (algorithm_.starts_with("PS") && (::EVP_PKEY_CTX_set_rsa_padding(settings, RSA_PKCS1_PSS_PADDING) <= 0 ||
                                       ::EVP_PKEY_CTX_set_rsa_pss_saltlen(settings, RSA_PSS_SALTLEN_DIGEST) <= 0))
    return false;
  std::optional<std::vector<unsigned char>> der;
  const auto* octets = reinterpret_cast<const unsigned char*>(signature.data());
  std::size_t size = signature.size();
  if (algorithm_.starts_with("ES")) {
    der = to_der(algorithm_, signature);
    if (!der) return false;
    octets = der->data();
    size = der->size();
  }
  return ::EVP_DigestVerify(context.get(), octets, size, reinterpret_cast<const unsigned char*>(text.data()),
                            text.size()) == 1;
}

}  // namespace sluice::plugins::jwt_auth
