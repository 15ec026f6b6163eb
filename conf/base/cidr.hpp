// IP addresses and address ranges.
//
// An IpAddress is 16 bytes: IPv4 as ::ffff:a.b.c.d, so that one comparison serves both families and a mapped IPv4
// peer equals the plain one. A CidrSet is built once and answers contains() by binary search over merged ranges.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/result.hpp"

namespace sluice {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};

  bool is_v4() const noexcept;  // mapped ones too
  std::string text() const;     // "10.0.0.1", "::1"
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

  static IpAddress from_v4(const std::uint8_t (&octets)[4]) noexcept;
};

// "10.0.0.1", "::1", "[::1]"; nothing else (no port, no zone, no name).
std::optional<IpAddress> parse_ip(std::string_view text) noexcept;
bool is_ipv4_text(std::string_view text) noexcept;
bool is_ipv6_text(std::string_view text) noexcept;  // without brackets

struct Cidr {
  IpAddress first;
  IpAddress last;
  static std::optional<Cidr> parse(std::string_view text) noexcept;  // address or address/bits
  bool contains(const IpAddress& a) const noexcept { return first <= a && a <= last; }
};

class CidrSet {
 public:
  // Error: `invalid ip address: <text>`.
  static Result<CidrSet> parse(const std::vector<std::string>& texts);

  // Invalid text is refused with false and leaves the set as it was. REQUIRES: seal() before contains().
  bool add(std::string_view text);
  void seal();

  bool contains(const IpAddress& a) const noexcept;
  bool contains(std::string_view text) const noexcept;  // false for what is no address
  bool empty() const noexcept { return ranges_.empty(); }
  std::size_t size() const noexcept { return ranges_.size(); }

 private:
  std::vector<Cidr> ranges_;  // after seal(): sorted, disjoint
};

}  // namespace sluice
