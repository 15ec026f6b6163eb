#include "admin/store/keyring.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "conf/base/text.hpp"

namespace sluice::admin {

namespace {

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const EVP_CIPHER* cipher_for(const std::string& key) {
  return key.size() == 16 ? EVP_aes_128_cbc() : EVP_aes_256_cbc();
}

const unsigned char* octets(std::string_view s) { return reinterpret_cast<const unsigned char*>(s.data()); }

std::string base64(const std::string& in) {
  std::string out(4 * ((in.size() + 2) / 3), '\0');
  if (!in.empty())
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), octets(in), static_cast<int>(in.size()));
  return out;
}

std::optional<std::string> unbase64(std::string_view in) {
  if (in.empty() || in.size() % 4 != 0) return std::nullopt;
  std::string out(in.size() / 4 * 3, '\0');
  const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), octets(in), static_cast<int>(in.size()));
  if (n < 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && in[in.size() - 1 - padding] == '=') ++padding;
  out.resize(static_cast<std::size_t>(n) - padding);
  return out;
}

std::optional<std::string> decrypt_with(const std::string& key, const std::string& in) {
  Cipher c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  if (!c || EVP_DecryptInit_ex(c.get(), cipher_for(key), nullptr, octets(key), octets(key)) != 1) return std::nullopt;
  std::string out(in.size() + 32, '\0');
  int n = 0;
  int last = 0;
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  if (EVP_DecryptUpdate(c.get(), to, &n, octets(in), static_cast<int>(in.size())) != 1) return std::nullopt;
  if (EVP_DecryptFinal_ex(c.get(), to + n, &last) != 1) return std::nullopt;
  out.resize(static_cast<std::size_t>(n + last));
  return out;
}

Error cannot(const std::string& what, const std::string& file) {
  return Error{Errc::io, file, what + ": " + std::strerror(errno), "keyring"};
}

std::string random_key() {
  static constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  unsigned char noise[32];
  if (RAND_bytes(noise, sizeof noise) != 1) return {};
  std::string key;
  for (unsigned char b : noise) key.push_back(kLetters[b % 36]);
  return key;
}

}  // namespace

Result<Keyring> Keyring::make(std::vector<std::string> keys) {
  for (const std::string& key : keys)
    if (key.size() != 16 && key.size() != 32)
      return invalid("a key must have 16 or 32 octets, found " + std::to_string(key.size()),
                     "apisix.data_encryption.keyring");
  Keyring ring;
  ring.keys_ = std::move(keys);
  return ring;
}

Result<Keyring> Keyring::load_or_create(const std::string& file) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC); fd >= 0) {
      char buffer[4096];
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      ::close(fd);
      if (n < 0) return cannot("cannot read the keyring", file);
      std::vector<std::string> keys;
      for (std::string_view line : text::split(std::string_view(buffer, static_cast<std::size_t>(n)), '\n'))
        if (!text::trim(line).empty()) keys.emplace_back(text::trim(line));
      if (keys.empty()) return invalid("the keyring is empty", file);
      return make(std::move(keys));
    }
    if (errno != ENOENT) return cannot("cannot open the keyring", file);
    // Written beside and linked into place, so that nobody ever reads half a key.
    const std::string beside = file + ".new." + std::to_string(::getpid());
    const std::string key = random_key();
    if (key.empty()) return Error{Errc::internal, file, "no random numbers for a key", "keyring"};
    const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return cannot("cannot create the keyring", beside);
    const std::string line = key + "\n";
    const bool written = ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && ::fsync(fd) == 0;
    ::close(fd);
    if (!written) return cannot("cannot write the keyring", beside);
    const int linked = ::link(beside.c_str(), file.c_str());
    const int why = errno;
    ::unlink(beside.c_str());
    errno = why;
    if (linked != 0 && errno != EEXIST) return cannot("cannot create the keyring", file);
  }
  return cannot("cannot open the keyring", file);
}

std::string Keyring::encrypt(std::string_view plain) const {
  if (keys_.empty()) return std::string(plain);
  const std::string& key = keys_.front();
  Cipher c(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string out(plain.size() + 32, '\0');
  int n = 0;
  int last = 0;
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  if (!c || EVP_EncryptInit_ex(c.get(), cipher_for(key), nullptr, octets(key), octets(key)) != 1 ||
      EVP_EncryptUpdate(c.get(), to, &n, octets(plain), static_cast<int>(plain.size())) != 1 ||
      EVP_EncryptFinal_ex(c.get(), to + n, &last) != 1)
    throw std::runtime_error("encryption failed");  // a broken crypto library: nothing may be stored in plain text
  out.resize(static_cast<std::size_t>(n + last));
  return base64(out);
}

std::optional<std::string> Keyring::decrypt(std::string_view cipher) const {
  const auto raw = unbase64(cipher);
  if (!raw || raw->empty() || raw->size() % 16 != 0) return std::nullopt;
  for (const std::string& key : keys_)
    if (auto plain = decrypt_with(key, *raw)) return plain;
  return std::nullopt;
}

std::string Keyring::decrypt_or_same(std::string_view cipher) const {
  auto plain = decrypt(cipher);
  return plain ? std::move(*plain) : std::string(cipher);
}

}  // namespace sluice::admin
