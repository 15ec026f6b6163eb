#include "worker/exchange/request_body.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sluice::worker {

RequestBody::~RequestBody() { drop_file(); }

void RequestBody::drop_file() noexcept {
  if (mapped_ != nullptr) ::munmap(std::exchange(mapped_, nullptr), mapped_size_);
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

bool RequestBody::begin(BodyFraming framing, std::uint64_t length, std::uint64_t limit, std::size_t keep) noexcept {
  framing_ = framing;
  length_ = length;
  limit_ = limit;
  complete_ = framing == BodyFraming::none;
  if (complete_) return true;
  const std::size_t most = std::clamp<std::size_t>(keep, Buffer::kSmall, Buffer::kHuge);
  buffer_size_ = framing == BodyFraming::length ? static_cast<std::size_t>(std::min<std::uint64_t>(length, most)) : most;
  return limit == 0 || framing != BodyFraming::length || length <= limit;
}

RequestBody::Fill RequestBody::take_length(Session& session, char* into, std::size_t room,
                                           std::size_t& produced) noexcept {
  const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(room, length_ - received_));
  const std::string_view at_hand = session.buffered();
  if (!at_hand.empty()) {
    produced = std::min(want, at_hand.size());
    std::memcpy(into, at_hand.data(), produced);
    session.consume(produced);
  } else {
    if (!session.client.readable()) return Fill::wait;
    const IoResult r = session.client.try_read(into, want);
    if (r.failed() || r.eof) return Fill::gone;
    if (r.n == 0) return Fill::wait;
    produced = r.n;
  }
  received_ += produced;
  raw_ += produced;
  complete_ = received_ == length_;
  return Fill::progress;
}

RequestBody::Fill RequestBody::take_chunked(Session& session, char* into, std::size_t room,
                                            std::size_t& produced) noexcept {
  if (!trailer_) trailer_ = Buffer(ChunkDecoder::kMaxTrailer);
  const std::string_view at_hand = session.buffered();
  std::size_t n = std::min(at_hand.size(), room);
  const bool from_buffer = n != 0;
  if (from_buffer) {
    std::memcpy(into, at_hand.data(), n);
  } else {
    if (!session.client.readable()) return Fill::wait;
    const IoResult r = session.client.try_read(into, std::min(room, Buffer::kMedium));
    if (r.failed() || r.eof) return Fill::gone;
    if (r.n == 0) return Fill::wait;
    n = r.n;
  }
  const ChunkDecoder::Step step = decoder_.decode(into, n, trailer_.data());
  if (step.status == ChunkDecoder::Status::fault || decoder_.trailer_size() > trailers_) return Fill::malformed;
  raw_ += step.used;
  if (from_buffer)
    session.consume(step.used);
  else if (step.used < n)
    session.unread({into + step.used, n - step.used});
  if (step.offset != 0 && step.payload != 0) std::memmove(into, into + step.offset, step.payload);
  produced = step.payload;
  received_ += produced;
#ifndef SLUICE_MUTATION_NO_BODY_BOUND
  if (limit_ != 0 && received_ > limit_) return Fill::too_large;
#endif
  complete_ = step.status == ChunkDecoder::Status::done;
  return Fill::progress;
}

RequestBody::Fill RequestBody::take(Session& session, char* into, std::size_t room, std::size_t& produced) noexcept {
  produced = 0;
  if (complete_) return Fill::progress;
  return framing_ == BodyFraming::length ? take_length(session, into, room, produced)
                                         : take_chunked(session, into, room, produced);
}

RequestBody::Fill RequestBody::fill(Session& session) noexcept {
  if (complete_) return Fill::progress;
  if (!buffer_) {
    if (mapped_ != nullptr) {  // collecting was given up: first what is in the file
      if (sent_ < end_) return Fill::full;
      drop_file();
      sent_ = end_ = 0;
      replayable_ = false;
    }
    buffer_ = Buffer(buffer_size_);
    base_ = buffer_.data();
  }
  if (sent_ == end_ && sent_ != 0 && (!keep_ || end_ == buffer_.size())) {
    sent_ = end_ = 0;  // what was here has passed by
    replayable_ = false;
  }
  if (end_ == buffer_.size()) return Fill::full;
  std::size_t produced = 0;
  const Fill result = take(session, buffer_.data() + end_, buffer_.size() - end_, produced);
  end_ += produced;
  return result;
}

bool RequestBody::write_out(std::string_view octets) noexcept {
  while (!octets.empty()) {
    const ssize_t n = ::write(file_, octets.data(), octets.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    octets.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool RequestBody::map_file() noexcept {
  mapped_size_ = static_cast<std::size_t>(received_);
  void* const p = ::mmap(nullptr, mapped_size_, PROT_READ, MAP_SHARED, file_, 0);
  if (p == MAP_FAILED) return false;
  mapped_ = p;
  base_ = static_cast<const char*>(p);
  end_ = mapped_size_;
  return true;
}

RequestBody::Fill RequestBody::collect(Session& session, std::size_t spill, const char* folder,
                                       std::uint64_t most) noexcept {
  if (collected_) return Fill::progress;
  if (most != 0 && framing_ == BodyFraming::length && length_ > most) return Fill::over;
  spill = std::clamp<std::size_t>(spill, Buffer::kSmall, Buffer::kHuge);
  if (!buffer_ && exists()) {
    // One octet more than fits in memory is enough to know that it does not.
    const bool small = framing_ == BodyFraming::length && length_ < spill;
    buffer_ = Buffer(small ? static_cast<std::size_t>(length_) : spill);
    base_ = buffer_.data();
  }
  while (!complete_) {
    if (end_ == buffer_.size()) {
      if (file_ < 0) file_ = ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
      if (file_ < 0 || !write_out({buffer_.data(), end_})) return Fill::no_space;
      end_ = 0;
    }
    std::size_t produced = 0;
    const Fill result = take(session, buffer_.data() + end_, buffer_.size() - end_, produced);
    end_ += produced;
    if (result != Fill::progress) return result;
    if (most != 0 && received_ > most) break;
  }
  if (file_ >= 0) {
    if (!write_out({buffer_.data(), end_}) || !map_file()) return Fill::no_space;
    buffer_.reset();
  }
  if (most != 0 && received_ > most) return Fill::over;
  if (base_ == nullptr) base_ = "";
  collected_ = true;
  return Fill::progress;
}

RequestBody::Fill RequestBody::discard(Session& session, std::uint64_t budget) noexcept {
  if (!buffer_) buffer_ = Buffer(Buffer::kMedium);
  const std::uint64_t before = raw_;
  while (!complete_) {
    if (raw_ - before > budget) return Fill::full;
    std::size_t produced = 0;
    const Fill result = take(session, buffer_.data(), buffer_.size(), produced);
    if (result != Fill::progress) return result;
  }
  return Fill::progress;
}

bool RequestBody::trailers(sdk::HeaderList& out) const noexcept {
  if (framing_ != BodyFraming::chunked || !complete_ || decoder_.trailer_size() == 0) return true;
  return parse_trailers({trailer_.data(), decoder_.trailer_size()}, out);
}

}  // namespace sluice::worker
