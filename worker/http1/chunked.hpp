// ChunkDecoder: chunked transfer coding, strictly, in place.
//
// A pure function over octets: it gets what has arrived, takes framing out, moves the payload together, and says how
// much was used. Extensions are dropped and bounded, the trailer section is bounded and handed out as text. Any octet
// that the grammar does not allow is a fault: bare LF, a sign, a blank that is not before a semicolon, a size of more
// than 16 digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugins/sdk/headers.hpp"

namespace sluice::worker {

class ChunkDecoder {
 public:
  static constexpr std::size_t kMaxExtension = 4096;   // of one chunk
  static constexpr std::size_t kMaxExtensions = 65536;  // of the body
  static constexpr std::size_t kMaxTrailer = 8192;

  enum class Status : std::uint8_t { more, done, fault };
  struct Step {
    std::size_t used = 0;      // octets of the input that are dealt with; the rest follows the body
    std::size_t offset = 0;    // the payload is at [offset, offset + payload)
    std::size_t payload = 0;
    Status status = Status::more;
  };

  // Decodes from [data, data + n), which it may rearrange. REQUIRES: not done, no fault before.
  // trailer: room of kMaxTrailer octets, or nullptr to drop the trailer section.
  Step decode(char* data, std::size_t n, char* trailer) noexcept;

  bool done() const noexcept { return state_ == State::done; }
  bool between_chunks() const noexcept { return state_ == State::size && digits_ == 0; }
  std::size_t trailer_size() const noexcept { return trailer_size_; }  // lines with CRLF, the blank line excluded
  void reset() noexcept { *this = ChunkDecoder(); }

 private:
  enum class State : std::uint8_t {
    size, blank, extension, size_lf, data, data_cr, data_lf, trailer_start, trailer_line, trailer_lf, end_lf, done, bad,
  };
  bool framing_octet(char c, char* trailer) noexcept;
  bool keep_trailer(char c, char* trailer) noexcept;

  State state_ = State::size;
  std::uint8_t digits_ = 0;
  std::uint16_t extension_ = 0;
  std::uint32_t extensions_ = 0;
  std::uint64_t left_ = 0;  // of the chunk in hand
  std::size_t trailer_size_ = 0;
};

// The fields of a trailer section (from trailer_size() octets of CRLF lines), checked as strictly as a head's. Fields
// that belong in a head (framing, routing, authentication, forwarding) are left out. False: malformed.
bool parse_trailers(std::string_view text, sdk::HeaderList& out) noexcept;

// "<hex size>\r\n" written to end at `end`; returns its first octet. Needs at most 18 octets before `end`.
char* write_chunk_size(char* end, std::uint64_t size) noexcept;

}  // namespace sluice::worker
