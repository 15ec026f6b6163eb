#include "worker/http1/chunked.hpp"

#include <algorithm>
#include <cstring>

#include "conf/base/text.hpp"

namespace sluice::worker {

bool ChunkDecoder::keep_trailer(char c, char* trailer) noexcept {
  if (trailer_size_ >= kMaxTrailer) return false;
  if (trailer != nullptr) trailer[trailer_size_] = c;
  ++trailer_size_;
  return true;
}

// One octet outside chunk data. False: a fault.
bool ChunkDecoder::framing_octet(char c, char* trailer) noexcept {
  switch (state_) {
    case State::size: {
      const int digit = text::hex_value(c);
      if (digit >= 0) {
        if (++digits_ > 16) return false;
        left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
        return left_ >> 60 == 0;  // far below what a counter holds
      }
      if (digits_ == 0) return false;
      if (c == '\r') {
        state_ = State::size_lf;
      } else if (c == ';') {
        state_ = State::extension;
      } else if (c == ' ' || c == '\t') {
        state_ = State::blank;
      } else {
        return false;
      }
      return true;
    }
    case State::blank:
      if (c == ';') state_ = State::extension;
      return (c == ';' || c == ' ' || c == '\t') && ++extension_ <= 16;
    case State::extension:
      if (c == '\r') {
        state_ = State::size_lf;
        return true;
      }
      if (c != '\t' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) return false;
      return ++extension_ <= kMaxExtension && ++extensions_ <= kMaxExtensions;
    case State::size_lf:
      if (c != '\n') return false;
      digits_ = 0;
      extension_ = 0;
      state_ = left_ == 0 ? State::trailer_start : State::data;
      return true;
    case State::data_cr:
      state_ = State::data_lf;
      return c == '\r';
    case State::data_lf:
      state_ = State::size;
      return c == '\n';
    case State::trailer_start:
      if (c == '\r') {
        state_ = State::end_lf;
        return true;
      }
      state_ = State::trailer_line;
      return c != '\n' && c != ' ' && c != '\t' && keep_trailer(c, trailer);
    case State::trailer_line:
      if (c == '\r') state_ = State::trailer_lf;
      return c != '\n' && c != '\0' && keep_trailer(c, trailer);
    case State::trailer_lf:
      state_ = State::trailer_start;
      return c == '\n' && keep_trailer(c, trailer);
    case State::end_lf:
      state_ = State::done;
      return c == '\n';
    case State::data:
    case State::done:
    case State::bad: break;
  }
  return false;
}

ChunkDecoder::Step ChunkDecoder::decode(char* data, std::size_t n, char* trailer) noexcept {
  Step step;
  std::size_t at = 0;
  while (at < n && state_ != State::done) {
    if (state_ != State::data) {
      if (!framing_octet(data[at++], trailer)) {
        state_ = State::bad;
        step.status = Status::fault;
        step.used = at;
        return step;
      }
      continue;
    }
    const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(left_, n - at));
    if (step.payload == 0)
      step.offset = at;  // the first run of data stays where it is
    else if (step.offset + step.payload != at)
      std::memmove(data + step.offset + step.payload, data + at, take);
    step.payload += take;
    at += take;
    left_ -= take;
    if (left_ == 0) state_ = State::data_cr;
  }
  step.used = at;
  step.status = state_ == State::done ? Status::done : Status::more;
  return step;
}

namespace {

bool token_octet(char c) noexcept {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return text::is_digit(c) || (text::lower(c) >= 'a' && text::lower(c) <= 'z') ||
         (c != '\0' && kMarks.find(c) != std::string_view::npos);
}

bool belongs_in_a_head(std::string_view name) noexcept {
  using sdk::FieldId;
  if (sdk::classify_field(name) != FieldId::other) return true;
  for (const std::string_view other : {"authorization", "proxy-authorization", "set-cookie", "content-encoding",
                                       "content-range", "cache-control", "range", "location", "www-authenticate",
                                       "age", "expires", "vary", "if-match", "if-none-match"})
    if (sdk::same_field(name, other)) return true;
  return false;
}

}  // namespace

bool parse_trailers(std::string_view text, sdk::HeaderList& out) noexcept {
  while (!text.empty()) {
    const std::size_t end = text.find("\r\n");
    if (end == std::string_view::npos) return false;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    const std::string_view name = line.substr(0, colon);
    for (const char c : name)
      if (!token_octet(c)) return false;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    for (const char c : value)
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) return false;
    if (!belongs_in_a_head(name)) out.add(name, value);
  }
  return true;
}

char* write_chunk_size(char* end, std::uint64_t size) noexcept {
  static constexpr char kHex[] = "0123456789abcdef";
  *--end = '\n';
  *--end = '\r';
  do {
    *--end = kHex[size & 15];
    size >>= 4;
  } while (size != 0);
  return end;
}

}  // namespace sluice::worker
