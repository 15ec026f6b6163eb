// OpenSSL behind certificates.hpp. Keys protected by a pass phrase are refused: there is nobody to ask.
#include "conf/model/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <memory>

namespace sluice::conf {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Bio memory_bio(std::string_view text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason != nullptr ? reason : "not a PEM text";
}

int no_passphrase(char*, int, int, void*) { return -1; }

}  // namespace

bool looks_like_pem(std::string_view text) noexcept { return text.find("-----BEGIN ") != std::string_view::npos; }

std::string check_certificate(std::string_view pem) {
  ERR_clear_error();
  const Bio bio = memory_bio(pem);
  if (!bio) return "out of memory";
  X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr);
  if (certificate == nullptr) return last_error();
  X509_free(certificate);
  return {};
}

std::string check_private_key(std::string_view pem) {
  ERR_clear_error();
  const Bio bio = memory_bio(pem);
  if (!bio) return "out of memory";
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr);
  if (key == nullptr) return last_error();
  EVP_PKEY_free(key);
  return {};
}

}  // namespace sluice::conf
