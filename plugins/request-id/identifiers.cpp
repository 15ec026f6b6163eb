#include "plugins/request-id/identifiers.hpp"

#include <array>
#include <chrono>
#include <cstdint>

#include "plugins/sdk/chance.hpp"

namespace sluice::plugins::request_id {

namespace {

using Uuid = std::array<std::uint8_t, 16>;

void put_big_endian(std::uint8_t* out, std::uint64_t value, int octets) noexcept {
  for (int i = octets - 1; i >= 0; --i, value >>= 8) out[i] = static_cast<std::uint8_t>(value);
}

std::string_view printed(sdk::Arena& arena, const Uuid& id) noexcept {
  static constexpr char kHex[] = "0123456789abcdef";
  char* const begin = static_cast<char*>(arena.allocate(36, 1));
  char* at = begin;
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
    *at++ = kHex[id[i] >> 4];
    *at++ = kHex[id[i] & 15];
  }
  return {begin, 36};
}

void mark(Uuid& id, std::uint8_t version) noexcept {
  id[6] = static_cast<std::uint8_t>((id[6] & 0x0f) | version << 4);
  id[8] = static_cast<std::uint8_t>((id[8] & 0x3f) | 0x80);
}

}  // namespace

std::string_view make_uuid(sdk::RequestContext& ctx) noexcept {
  Uuid id;
  put_big_endian(id.data(), sdk::random_u64(), 8);
  put_big_endian(id.data() + 8, sdk::random_u64(), 8);
  mark(id, 4);
  return printed(ctx.arena, id);
}

std::string_view make_uuidv7(sdk::RequestContext& ctx) noexcept {
  const auto since_epoch = std::chrono::duration_cast<std::chrono::milliseconds>(ctx.wall.time_since_epoch());
  Uuid id;
  put_big_endian(id.data(), static_cast<std::uint64_t>(since_epoch.count()), 6);
  put_big_endian(id.data() + 6, sdk::random_u64(), 2);
  put_big_endian(id.data() + 8, sdk::random_u64(), 8);
  mark(id, 7);
  return printed(ctx.arena, id);
}

std::string_view make_range(sdk::RequestContext& ctx, std::string_view set, std::size_t length) noexcept {
  char* const begin = static_cast<char*>(ctx.arena.allocate(length, 1));
  for (std::size_t i = 0; i < length; ++i) begin[i] = set[sdk::random_below(set.size())];
  return {begin, length};
}

std::string_view make_nanoid(sdk::RequestContext& ctx) noexcept {
  return make_range(ctx, "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 21);
}

// 20 octets (seconds since the KSUID epoch, 16 random) as one big number in base 62.
std::string_view make_ksuid(sdk::RequestContext& ctx) noexcept {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::int64_t kEpoch = 1'400'000'000;
  constexpr std::size_t kLength = 27;
  const auto since_epoch = std::chrono::duration_cast<std::chrono::seconds>(ctx.wall.time_since_epoch());
  std::array<std::uint32_t, 5> number{};
  number[0] = static_cast<std::uint32_t>(since_epoch.count() - kEpoch);
  for (std::size_t i = 1; i < number.size(); i += 2) {
    const std::uint64_t random = sdk::random_u64();
    number[i] = static_cast<std::uint32_t>(random >> 32);
    number[i + 1] = static_cast<std::uint32_t>(random);
  }
  char* const begin = static_cast<char*>(ctx.arena.allocate(kLength, 1));
  for (std::size_t at = kLength; at-- > 0;) {
    std::uint64_t rest = 0;
    for (std::uint32_t& word : number) {
      rest = rest << 32 | word;
      word = static_cast<std::uint32_t>(rest / kDigits.size());
      rest %= kDigits.size();
    }
    begin[at] = kDigits[rest];
  }
  return {begin, kLength};
}

}  // namespace sluice::plugins::request_id
