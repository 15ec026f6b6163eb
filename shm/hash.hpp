// Keys of shared records: 128-bit keyed hash (SipHash-1-3 with 128 bits of output) of one or more texts.
//
// The seed is drawn at random when the region is made and lives in its header, so nobody outside can choose keys that
// collide; with 128 bits two honest keys never do, so records do not keep the whole key text to compare.
// Each text is hashed behind its length: ("ab","c") and ("a","bc") are different keys.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace sluice::shm {

struct Seed {
  std::uint64_t k0 = 0, k1 = 0;
};

struct Key {
  std::uint64_t hi = 0, lo = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

// Feeds texts and numbers one after the other: KeyHasher(seed).add(a).add(b).finish().
class KeyHasher {
 public:
  explicit KeyHasher(const Seed& seed) noexcept
      : v0_(seed.k0 ^ 0x736f6d6570736575u),
        v1_(seed.k1 ^ 0x646f72616e646f6du ^ 0xee),
        v2_(seed.k0 ^ 0x6c7967656e657261u),
        v3_(seed.k1 ^ 0x7465646279746573u) {}

  KeyHasher& add(std::string_view text) noexcept;
  KeyHasher& add(std::uint64_t number) noexcept {
    absorb(number);
    return *this;
  }
  Key finish() noexcept;

 private:
  void round() noexcept {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }
  void absorb(std::uint64_t word) noexcept {
    v3_ ^= word;
    round();
    v0_ ^= word;
    ++words_;
  }

  std::uint64_t v0_, v1_, v2_, v3_;
  std::uint64_t words_ = 0;
};

inline Key make_key(const Seed& seed, std::initializer_list<std::string_view> parts) noexcept {
  KeyHasher h(seed);
  for (auto part : parts) h.add(part);
  return h.finish();
}

}  // namespace sluice::shm
