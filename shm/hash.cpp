// SipHash-1-3 over 64-bit words. See hash.hpp.
#include "shm/hash.hpp"

#include <cstring>

namespace sluice::shm {

KeyHasher& KeyHasher::add(std::string_view text) noexcept {
  absorb(text.size());
  const char* p = text.data();
  std::size_t left = text.size();
  for (; left >= 8; left -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    absorb(word);
  }
  if (left != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, left);
    absorb(word);
  }
  return *this;
}

Key KeyHasher::finish() noexcept {
  absorb(words_ << 56);
  v2_ ^= 0xee;
  for (int i = 0; i < 3; ++i) round();
  const std::uint64_t first = v0_ ^ v1_ ^ v2_ ^ v3_;
  v1_ ^= 0xdd;
  for (int i = 0; i < 3; ++i) round();
  return Key{first, v0_ ^ v1_ ^ v2_ ^ v3_};
}

}  // namespace sluice::shm
