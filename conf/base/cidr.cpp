// Parsing and lookup for cidr.hpp.
#include "conf/base/cidr.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

constexpr std::uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

template <int Family, std::size_t N>
bool to_binary(std::string_view text, std::uint8_t (&out)[N]) noexcept {
  char buffer[64];
  if (text.empty() || text.size() >= sizeof buffer || text.find('\0') != std::string_view::npos) return false;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = 0;
  return inet_pton(Family, buffer, out) == 1;
}

}  // namespace

bool IpAddress::is_v4() const noexcept { return std::memcmp(bytes.data(), kMappedPrefix, 12) == 0; }

std::string IpAddress::text() const {
  char buffer[INET6_ADDRSTRLEN] = {};
  if (is_v4())
    inet_ntop(AF_INET, bytes.data() + 12, buffer, sizeof buffer);
  else
    inet_ntop(AF_INET6, bytes.data(), buffer, sizeof buffer);
  return buffer;
}

IpAddress IpAddress::from_v4(const std::uint8_t (&octets)[4]) noexcept {
  IpAddress a;
  std::memcpy(a.bytes.data(), kMappedPrefix, 12);
  std::memcpy(a.bytes.data() + 12, octets, 4);
  return a;
}

bool is_ipv4_text(std::string_view text) noexcept {
  std::uint8_t out[4];
  return to_binary<AF_INET>(text, out);
}

bool is_ipv6_text(std::string_view text) noexcept {
  std::uint8_t out[16];
  return to_binary<AF_INET6>(text, out);
}

std::optional<IpAddress> parse_ip(std::string_view text) noexcept {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
    if (text.find(':') == std::string_view::npos) return std::nullopt;
  }
  std::uint8_t v4[4];
  if (to_binary<AF_INET>(text, v4)) return IpAddress::from_v4(v4);
  std::uint8_t v6[16];
  if (!to_binary<AF_INET6>(text, v6)) return std::nullopt;
  IpAddress a;
  std::copy(std::begin(v6), std::end(v6), a.bytes.begin());
  return a;
}

std::optional<Cidr> Cidr::parse(std::string_view text) noexcept {
  const auto slash = text.find('/');
  const std::string_view address = text.substr(0, slash);
  const auto ip = parse_ip(address);
  if (!ip) return std::nullopt;
  // The prefix counts in the family of the text, also for IPv4 written as ::ffff:a.b.c.d.
  const unsigned width = address.find(':') == std::string_view::npos ? 32 : 128;
  unsigned bits = width;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    if (digits.empty() || digits.size() > 3) return std::nullopt;
    bits = 0;
    for (char c : digits) {
      if (c < '0' || c > '9') return std::nullopt;
      bits = bits * 10 + static_cast<unsigned>(c - '0');
    }
    if (bits > width) return std::nullopt;
  }
  bits += 128 - width;
  Cidr range{*ip, *ip};
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned kept = bits <= 8 * i ? 0 : std::min(8u, bits - 8 * i);
    const auto mask = static_cast<std::uint8_t>(0xff00u >> kept);
    range.first.bytes[i] = static_cast<std::uint8_t>(range.first.bytes[i] & mask);
    range.last.bytes[i] = static_cast<std::uint8_t>(range.last.bytes[i] | static_cast<std::uint8_t>(~mask));
  }
  return range;
}

Result<CidrSet> CidrSet::parse(const std::vector<std::string>& texts) {
  CidrSet set;
  for (const auto& text : texts)
    if (!set.add(text)) return invalid("invalid ip address: " + text);
  set.seal();
  return set;
}

bool CidrSet::add(std::string_view text) {
  const auto range = Cidr::parse(text);
  if (!range) return false;
  ranges_.push_back(*range);
  return true;
}

void CidrSet::seal() {
  std::sort(ranges_.begin(), ranges_.end(), [](const Cidr& a, const Cidr& b) { return a.first < b.first; });
  std::vector<Cidr> merged;
  for (const Cidr& r : ranges_) {
    if (!merged.empty() && r.first <= merged.back().last)
      merged.back().last = std::max(merged.back().last, r.last);
    else
      merged.push_back(r);
  }
  ranges_ = std::move(merged);
}

bool CidrSet::contains(const IpAddress& a) const noexcept {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), a,
                                [](const IpAddress& ip, const Cidr& r) { return ip < r.first; });
  return after != ranges_.begin() && a <= std::prev(after)->last;
}

bool CidrSet::contains(std::string_view text) const noexcept {
  const auto ip = parse_ip(text);
  return ip && contains(*ip);
}

}  // namespace sluice
