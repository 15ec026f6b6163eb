// Consistent hashing over a ring of CRC-32 points.
//
// A node of reduced weight w (weight / gcd) has 160 * w points: h[0] = crc(id 00 00 00 00), h[i] = crc(id LE32(h[i-1])),
// where id is the node's address with every ':' replaced by a zero octet. A key goes to the first point at or after its own
// CRC-32, around the end; a retry walks on, point by point, to the next node not yet tried. All nodes of a group are on the
// ring, whatever their health, so that keys of healthy nodes do not move when another fails.
//
// A ring is a function of addresses and weights, and may be large: it is built at the first use and shared, within the
// process, by all upstreams with the same content.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "worker/balancer/hash_key.hpp"
#include "worker/balancer/picker.hpp"

namespace sluice::balancer {

std::uint32_t crc32(std::string_view octets, std::uint32_t start = 0) noexcept;

class Ring {
 public:
  struct Point {
    std::uint32_t hash;
    std::uint32_t node;
  };
  // Above this many points weights are scaled down, with a warning: a ring is a table, not a place for fine print.
  static constexpr std::uint64_t kMaxPoints = 1u << 21;

  explicit Ring(std::span<const Peer> peers);
  // The ring of this content, shared with whoever has one already.
  static std::shared_ptr<const Ring> shared(std::span<const Peer> peers);
  static std::size_t alive_for_test() noexcept;

  std::span<const Point> points() const noexcept { return points_; }
  std::uint32_t nodes() const noexcept { return nodes_; }   // that have points
  // Position of the first point at or after `hash`. REQUIRES: there are points.
  std::uint32_t position(std::uint32_t hash) const noexcept;

 private:
  std::vector<Point> points_;
  std::uint32_t nodes_ = 0;
};

class Chash final : public Picker {
 public:
  Chash(std::span<const Peer> peers, HashKey key) : peers_(peers.begin(), peers.end()), key_(std::move(key)) {}
  std::uint32_t pick(Walk& walk) noexcept override;

 private:
  std::vector<Peer> peers_;
  HashKey key_;
  std::shared_ptr<const Ring> ring_;
};

}  // namespace sluice::balancer
