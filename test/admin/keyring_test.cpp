#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "admin/store/keyring.hpp"
#include "test/admin/support.hpp"

using namespace sluice::admin;
using test::TempDir;

TEST_CASE("secrets go in and come out", "[admin][keyring]") {
  auto ring = Keyring::make({"qeddd145sfvddff3"});
  REQUIRE(ring);
  const std::string cipher = ring->encrypt("the secret");
  CHECK(cipher != "the secret");
  CHECK(cipher == ring->encrypt("the secret"));
  CHECK(ring->decrypt(cipher).value() == "the secret");
  CHECK(ring->decrypt_or_same("never encrypted") == "never encrypted");
  CHECK(ring->decrypt(ring->encrypt("")).value().empty());
}

TEST_CASE("known cipher text of an existing installation is read", "[admin][keyring]") {
  // AES-128-CBC of "123456", key and initialisation vector "qeddd145sfvddff3".
  auto ring = Keyring::make({"qeddd145sfvddff3"});
  CHECK(ring->decrypt("HZ9XVr5yGpPAIB91SL5BBQ==").value_or("none") == "123456");
}

TEST_CASE("the first key encrypts, all of them decrypt", "[admin][keyring]") {
  auto old_ring = Keyring::make({"edd1c9f0985e76a2"});
  auto ring = Keyring::make({"0123456789abcdef0123456789abcdef", "edd1c9f0985e76a2"});
  REQUIRE(ring);
  CHECK(ring->decrypt(old_ring->encrypt("x")).value() == "x");
  CHECK_FALSE(old_ring->decrypt(ring->encrypt("a longer secret that the old key must not read")).has_value());
}

TEST_CASE("keys of another length are refused without showing them", "[admin][keyring]") {
  auto ring = Keyring::make({"short-secret"});
  REQUIRE_FALSE(ring);
  CHECK(ring.error().message().find("short-secret") == std::string::npos);
}

TEST_CASE("the keyring is made once and kept", "[admin][keyring]") {
  TempDir dir;
  auto first = Keyring::load_or_create(dir.file("keyring"));
  REQUIRE(first);
  auto second = Keyring::load_or_create(dir.file("keyring"));
  REQUIRE(second);
  CHECK(second->decrypt(first->encrypt("x")).value() == "x");
  struct stat status {};
  REQUIRE(::stat(dir.file("keyring").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK_FALSE(Keyring::load_or_create(dir.file("no/such/folder/keyring")));
}
