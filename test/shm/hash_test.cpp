#include <bit>
#include <cstring>
#include <set>

#include "shm_support.hpp"

using namespace sluice::shm;

TEST_CASE("keys depend on the seed, the texts and where they are cut", "[shm][hash]") {
  const Seed seed{1, 2};
  const Key k = make_key(seed, {"ab", "c"});
  CHECK(k == make_key(seed, {"ab", "c"}));
  CHECK_FALSE(k == make_key(seed, {"a", "bc"}));
  CHECK_FALSE(k == make_key(seed, {"abc"}));
  CHECK_FALSE(k == make_key(seed, {"ab", "c", ""}));
  CHECK_FALSE(k == make_key(Seed{1, 3}, {"ab", "c"}));
  CHECK_FALSE(k == make_key(Seed{2, 2}, {"ab", "c"}));
}

TEST_CASE("texts that differ only in trailing zero bytes have different keys", "[shm][hash]") {
  using namespace std::string_view_literals;
  const Seed seed{5, 6};
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (auto text : {""sv, "\0"sv, "\0\0"sv, "\0\0\0\0\0\0\0\0"sv, "\0\0\0\0\0\0\0\0\0"sv}) {
    const Key k = make_key(seed, {text});
    CHECK(seen.insert({k.hi, k.lo}).second);
  }
}

TEST_CASE("a flipped input bit flips about half of the key's bits", "[shm][hash]") {
  const Seed seed{7, 8};
  double flipped = 0;
  int n = 0;
  for (int i = 0; i < 400; ++i) {
    std::string text = "10.0.0." + std::to_string(i) + "/some/path";
    const Key a = make_key(seed, {text});
    for (std::size_t bit = 0; bit < text.size() * 8; bit += 5, ++n) {
      std::string other = text;
      other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
      const Key b = make_key(seed, {other});
      flipped += std::popcount(a.hi ^ b.hi) + std::popcount(a.lo ^ b.lo);
    }
  }
  CHECK(flipped / n == Approx(64).margin(0.5));
}

TEST_CASE("keys spread evenly over shards and buckets", "[shm][hash]") {
  sluice::shm::test::Table t(sluice::shm::test::shape_for(4096, 2, 16));
  std::vector<int> per_shard(16);
  for (int i = 0; i < 16000; ++i) ++per_shard[t.core.shard_of(make_key(t.region.seed(), {std::to_string(i)}))];
  for (int n : per_shard) {
    CHECK(n > 800);
    CHECK(n < 1200);
  }
}
