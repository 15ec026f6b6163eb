#include "plugins/sdk/digest.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace sluice::sdk {

namespace {

const EVP_MD* method_of(Hash hash) noexcept {
  switch (hash) {
    case Hash::sha1:
      return ::EVP_sha1();
    case Hash::sha256:
      return ::EVP_sha256();
    case Hash::sha384:
      return ::EVP_sha384();
    case Hash::sha512:
      return ::EVP_sha512();
  }
  return nullptr;
}

}  // namespace

std::string_view digest(Arena& arena, Hash hash, std::string_view octets) noexcept {
  auto* out = static_cast<unsigned char*>(arena.allocate(EVP_MAX_MD_SIZE, 1));
  unsigned size = 0;
  if (::EVP_Digest(octets.data(), octets.size(), out, &size, method_of(hash), nullptr) != 1) return {};
  return {reinterpret_cast<const char*>(out), size};
}

std::string_view hmac(Arena& arena, Hash hash, std::string_view key, std::string_view octets) noexcept {
  auto* out = static_cast<unsigned char*>(arena.allocate(EVP_MAX_MD_SIZE, 1));
  unsigned size = 0;
  const void* secret = key.empty() ? "" : key.data();
  if (::HMAC(method_of(hash), secret, static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(octets.data()), octets.size(), out, &size) == nullptr)
    return {};
  return {reinterpret_cast<const char*>(out), size};
}

std::string_view hex(Arena& arena, std::string_view octets) noexcept {
  static constexpr char kDigits[] = "0123456789abcdef";
  char* const begin = static_cast<char*>(arena.allocate(octets.size() * 2, 1));
  char* at = begin;
  for (const char c : octets) {
    *at++ = kDigits[static_cast<unsigned char>(c) >> 4];
    *at++ = kDigits[static_cast<unsigned char>(c) & 15];
  }
  return {begin, octets.size() * 2};
}

}  // namespace sluice::sdk
