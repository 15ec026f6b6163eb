// RequestBody: the body of one request on its way from the client.
//
// Streaming: octets are taken from the connection into one buffer of at most 64 KiB and sent from there. While they all
// still are in the buffer the request can be sent again (rewind); when it has to be reused the body has passed by and
// `replayable` ends. Collected (a plugin reads the body): in memory up to the spill threshold, beyond that in an unnamed
// temporary file that is mapped; then it can always be sent again.
//
// Framing and limits of the client's side are kept here: what is malformed, too large or cut short is never sent on as
// if it were whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugins/sdk/headers.hpp"
#include "worker/exchange/session.hpp"
#include "worker/http1/chunked.hpp"
#include "worker/http1/request_head.hpp"
#include "worker/io/buffer.hpp"

namespace sluice::worker {

class RequestBody {
 public:
  enum class Fill : std::uint8_t {
    progress,   // octets came, or the body is complete now
    wait,       // nothing is there now
    full,       // the buffer holds as much as it can: send first
    malformed,  // 400
    too_large,  // 413
    gone,       // the client went away in the middle
    no_space,   // the temporary file could not be written (500)
    over,       // collecting: longer than the readers take; what came is still to be sent, the rest streams
  };

  RequestBody() = default;
  ~RequestBody();
  RequestBody(const RequestBody&) = delete;
  RequestBody& operator=(const RequestBody&) = delete;

  // limit 0: none. False: the stated length is above the limit already.
  bool begin(BodyFraming framing, std::uint64_t length, std::uint64_t limit, std::size_t keep) noexcept;

  void bound_trailers(std::size_t octets) noexcept { trailers_ = octets; }   // at most ChunkDecoder::kMaxTrailer

  // Another limit from now on (a plugin's). False: what is stated or was received is above it.
  bool limit(std::uint64_t octets) noexcept {
    limit_ = octets;
    return octets == 0 || (length_ <= octets && received_ <= octets);
  }

  bool exists() const noexcept { return framing_ != BodyFraming::none; }
  bool chunked() const noexcept { return framing_ == BodyFraming::chunked; }
  bool complete() const noexcept { return complete_; }       // all of it was received
  std::uint64_t received() const noexcept { return received_; }
  std::uint64_t stated_length() const noexcept { return length_; }
  std::uint64_t raw_octets() const noexcept { return raw_; }  // as on the wire, framing included

  // Takes what is at hand: buffered octets, then one read of the socket.
  Fill fill(Session& session) noexcept;

  // ---- sending
  std::string_view pending() const noexcept { return {base_ + sent_, end_ - sent_}; }
  void sent(std::size_t n) noexcept { sent_ += n; }
  bool all_sent() const noexcept { return complete_ && sent_ == end_; }
  bool replayable() const noexcept { return replayable_; }
  void rewind() noexcept { sent_ = 0; }                        // REQUIRES: replayable
  void stop_keeping() noexcept { keep_ = false; }              // the answer has begun

  // ---- collecting: fill until complete, at most `spill` octets in memory and `most` in all (0: no bound)
  Fill collect(Session& session, std::size_t spill, const char* folder, std::uint64_t most) noexcept;
  bool collected() const noexcept { return collected_; }
  std::string_view whole() const noexcept { return {base_, end_}; }  // REQUIRES: collected

  // Lets go of what comes, without keeping it, to find the end of the body. At most `budget` octets.
  Fill discard(Session& session, std::uint64_t budget) noexcept;

  // The trailer section, checked; false: malformed. Empty unless chunked and complete.
  bool trailers(sdk::HeaderList& out) const noexcept;
  bool has_trailers() const noexcept { return decoder_.trailer_size() != 0; }

 private:
  Fill take(Session& session, char* into, std::size_t room, std::size_t& produced) noexcept;
  Fill take_length(Session& session, char* into, std::size_t room, std::size_t& produced) noexcept;
  Fill take_chunked(Session& session, char* into, std::size_t room, std::size_t& produced) noexcept;
  bool write_out(std::string_view octets) noexcept;
  bool map_file() noexcept;
  void drop_file() noexcept;

  BodyFraming framing_ = BodyFraming::none;
  bool complete_ = true;
  bool replayable_ = true;
  bool keep_ = true;
  bool collected_ = false;
  std::uint64_t length_ = 0, limit_ = 0;
  std::uint64_t received_ = 0, raw_ = 0;
  std::size_t buffer_size_ = 0;
  std::size_t trailers_ = ChunkDecoder::kMaxTrailer;
  ChunkDecoder decoder_;
  Buffer buffer_, trailer_;
  const char* base_ = nullptr;
  std::size_t sent_ = 0, end_ = 0;
  int file_ = -1;
  void* mapped_ = nullptr;
  std::size_t mapped_size_ = 0;
};

}  // namespace sluice::worker
