#include "plugins/sdk/inflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <span>

#include "conf/base/text.hpp"

namespace sluice::sdk {

namespace {

constexpr int kAnyWrapper = 15 + 32;  // zlib finds out whether gzip or zlib
constexpr int kNoWrapper = -15;

voidpf take(voidpf arena, uInt items, uInt size) {
  return static_cast<Arena*>(arena)->allocate(static_cast<std::size_t>(items) * size);
}
void give(voidpf, voidpf) {}  // the arena goes with the request

// Room that doubles, up to a bound.
class Room {
 public:
  Room(Arena& arena, std::size_t first, std::size_t max) noexcept
      : arena_(arena), max_(max), buffer_(arena.array<char>(std::min(first, max))) {}

  bool widen() noexcept {
    if (buffer_.size() == max_) return false;
    const std::size_t wanted = buffer_.size() > max_ / 2 ? max_ : std::max<std::size_t>(buffer_.size() * 2, 1024);
    char* const bigger = static_cast<char*>(arena_.allocate(std::min(wanted, max_), 1));
    std::copy_n(buffer_.data(), used, bigger);
    buffer_ = {bigger, std::min(wanted, max_)};
    return true;
  }
  std::span<char> free() const noexcept { return buffer_.subspan(used); }
  std::string_view text() const noexcept { return {buffer_.data(), used}; }

  std::size_t used = 0;

 private:
  Arena& arena_;
  std::size_t max_;
  std::span<char> buffer_;
};

std::string_view run(Arena& arena, int window, std::string_view octets, std::size_t max) noexcept {
  z_stream stream{};
  stream.zalloc = &take;
  stream.zfree = &give;
  stream.opaque = &arena;
  if (max == 0 || ::inflateInit2(&stream, window) != Z_OK) return {};
  Room room(arena, octets.size() * 4 + 64, max);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(octets.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(octets.size(), UINT32_MAX));
  while (true) {
    const auto free = room.free();
    stream.next_out = reinterpret_cast<Bytef*>(free.data());
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(free.size(), UINT32_MAX));
    const uInt offered = stream.avail_out;
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    room.used += offered - stream.avail_out;
    if (result == Z_STREAM_END) {
      // gzip allows several members one after the other.
      if (window == kNoWrapper || stream.avail_in == 0 || ::inflateReset(&stream) != Z_OK) break;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      break;
    } else if (stream.avail_out > 0) {
      break;  // more input would be needed
    }
    if (room.free().empty() && !room.widen()) break;
  }
  ::inflateEnd(&stream);
  return room.text();
}

}  // namespace

Coding coding_of(std::string_view content_encoding) noexcept {
  const std::string_view name = text::trim(content_encoding);
  if (name.empty() || text::iequal(name, "identity")) return Coding::identity;
  if (text::iequal(name, "gzip") || text::iequal(name, "x-gzip")) return Coding::gzip;
  return text::iequal(name, "deflate") ? Coding::deflate : Coding::unknown;
}

std::string_view inflate(Arena& arena, Coding coding, std::string_view octets, std::size_t max) noexcept {
  const std::string_view text = run(arena, kAnyWrapper, octets, max);
  // Many senders of `deflate` leave the zlib wrapper out.
  return text.empty() && coding == Coding::deflate ? run(arena, kNoWrapper, octets, max) : text;
}

}  // namespace sluice::sdk
