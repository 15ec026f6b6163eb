#include "worker/balancer/chash.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

#include "conf/base/log.hpp"

namespace sluice::balancer {
namespace {

constexpr std::uint32_t kPointsPerWeight = 160;

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0xedb88320u : 0u);
    table[i] = c;
  }
  return table;
}
constexpr auto kCrcTable = make_crc_table();

std::string content_of(std::span<const Peer> peers) {
  std::string content;
  for (const Peer& peer : peers) content += peer.address + '=' + std::to_string(peer.weight) + '\n';
  return content;
}

using RingMap = std::unordered_map<std::string, std::weak_ptr<const Ring>>;
RingMap& rings() {
  static RingMap& map = *new RingMap;  // outlives every picker, at exit too
  return map;
}

}  // namespace

std::uint32_t crc32(std::string_view octets, std::uint32_t start) noexcept {
  std::uint32_t c = ~start;
  for (const char o : octets) c = kCrcTable[(c ^ static_cast<unsigned char>(o)) & 0xff] ^ (c >> 8);
  return ~c;
}

Ring::Ring(std::span<const Peer> peers) {
  std::uint32_t gcd = 0;
  std::uint64_t sum = 0;
  for (const Peer& peer : peers) {
    gcd = std::gcd(gcd, peer.weight);
    sum += peer.weight;
  }
  if (gcd == 0) return;
  const std::uint64_t wanted = sum / gcd * kPointsPerWeight;
  const double scale = wanted > kMaxPoints ? static_cast<double>(kMaxPoints) / static_cast<double>(wanted) : 1;
  if (scale < 1)
    log::warn("chash: weights ask for " + std::to_string(wanted) + " points on the ring; scaled down to " +
              std::to_string(kMaxPoints) + ": give smaller weights");
  points_.reserve(std::min(wanted, kMaxPoints + kPointsPerWeight * peers.size()));
  for (std::uint32_t node = 0; node < peers.size(); ++node) {
    if (peers[node].weight == 0) continue;
    ++nodes_;
    std::string id = peers[node].address;
    std::replace(id.begin(), id.end(), ':', '\0');
    const std::uint32_t prefix = crc32(id);
    const std::uint32_t reduced = peers[node].weight / gcd;
    const auto weight = std::max(1u, static_cast<std::uint32_t>(reduced * scale));
    std::uint32_t hash = 0;
    for (std::uint32_t i = 0; i < weight * kPointsPerWeight; ++i) {
      const char seed[4] = {static_cast<char>(hash), static_cast<char>(hash >> 8), static_cast<char>(hash >> 16),
                            static_cast<char>(hash >> 24)};
      hash = crc32({seed, 4}, prefix);
      points_.push_back({hash, node});
    }
  }
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.node < b.node;
  });
}

std::shared_ptr<const Ring> Ring::shared(std::span<const Peer> peers) {
  const std::string content = content_of(peers);
  auto& slot = rings()[content];
  if (auto ring = slot.lock()) return ring;
  // The last user takes the entry out of the table with it.
  std::shared_ptr<const Ring> ring(new Ring(peers), [content](const Ring* r) {
    rings().erase(content);
    delete r;
  });
  slot = ring;
  return ring;
}

std::size_t Ring::alive_for_test() noexcept { return rings().size(); }

std::uint32_t Ring::position(std::uint32_t hash) const noexcept {
  const auto at = std::lower_bound(points_.begin(), points_.end(), hash,
                                   [](const Point& p, std::uint32_t h) { return p.hash < h; });
  return at == points_.end() ? 0 : static_cast<std::uint32_t>(at - points_.begin());
}

std::uint32_t Chash::pick(Walk& walk) noexcept {
  if (!ring_) ring_ = Ring::shared(peers_);
  const auto points = ring_->points();
  if (points.empty() || walk.tried.count() >= ring_->nodes()) return kNoPeer;
  if (walk.first) walk.cursor = ring_->position(crc32(key_.of(walk.request)));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::uint32_t node = points[walk.cursor].node;
    if (!walk.tried.test(node)) return node;
    walk.cursor = walk.cursor + 1 == points.size() ? 0 : walk.cursor + 1;
  }
  return kNoPeer;
}

}  // namespace sluice::balancer
