// Asking a node: the request goes out (and its body after it) until the head of a final answer is here.
//
// Sending and receiving overlap: a node may answer before it has the whole body. What the client sends is taken only as
// fast as the node takes it.
#include <cstring>

#include "worker/exchange/exchange.hpp"
#include "worker/http1/head_writer.hpp"

namespace sluice::worker {

namespace {
constexpr int kSendsPerTurn = 16;
constexpr unsigned kMaxInterims = 32;
}  // namespace

Exchange::Sent Exchange::fill_body() noexcept {
  switch (body_.fill(session_)) {
    case RequestBody::Fill::progress: return Sent::busy;
    case RequestBody::Fill::full: return Sent::all;
    case RequestBody::Fill::wait: return say_continue() ? Sent::starved : Sent::client_gone;
    case RequestBody::Fill::malformed: return Sent::body_malformed;
    case RequestBody::Fill::too_large: return Sent::body_too_large;
    default: return Sent::client_gone;
  }
}

// Only when the client waits for it: nothing of the body has come.
bool Exchange::say_continue() noexcept {
  if (!head_.expects_continue || continue_sent_ || body_.raw_octets() != 0) return true;
  continue_sent_ = true;
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  const IoResult r = session_.client.try_write(kContinue.data(), kContinue.size());
  ctx_.bytes_sent += r.n;
  return r.n == kContinue.size();  // a socket that has no room for this is not one that waits for it
}

// The next chunk for the node: what is pending, and the end when it is known. False: the trailer section is malformed.
bool Exchange::next_frame() noexcept {
  const std::string_view payload = body_.pending();
  const bool last = body_.complete();
  frame_ = Frame{};
  frame_.payload = payload.size();
  if (!payload.empty()) {
    char* const end = frame_.prefix + sizeof frame_.prefix;
    char* const begin = write_chunk_size(end, payload.size());
    frame_.prefix_size = static_cast<std::uint8_t>(end - begin);
    std::memmove(frame_.prefix, begin, frame_.prefix_size);
  }
  if (!last) {
    frame_.suffix = "\r\n";
    return true;
  }
  end_sent_ = true;
  frame_.suffix = payload.empty() ? "0\r\n\r\n" : "\r\n0\r\n\r\n";
  if (!body_.has_trailers()) return true;
  sdk::HeaderList trailers(ctx_.arena);
  if (!body_.trailers(trailers)) return false;
  std::string_view text = payload.empty() ? "0\r\n" : "\r\n0\r\n";
  for (const sdk::Field& f : trailers) text = ctx_.arena.concat({text, f.name, ": ", f.value, "\r\n"});
  frame_.suffix = ctx_.arena.concat({text, "\r\n"});
  return true;
}

Exchange::Sent Exchange::send_frame() noexcept {
  const std::string_view parts[3] = {
      {frame_.prefix, frame_.prefix_size}, body_.pending().substr(0, frame_.payload), frame_.suffix};
  iovec vectors[3];
  int count = 0;
  std::size_t skip = frame_.sent;
  for (const std::string_view part : parts) {
    const std::size_t gone = std::min(skip, part.size());
    skip -= gone;
    if (gone < part.size()) vectors[count++] = {const_cast<char*>(part.data() + gone), part.size() - gone};
  }
  const IoResult r = upstream_connection_->io.try_write(vectors, count);
  if (r.failed()) return Sent::failed;
  frame_.sent += r.n;
  request_sent_ += r.n;
  if (frame_.sent < frame_.size()) return Sent::blocked;
  body_.sent(frame_.payload);
  frame_ = Frame{};
  return Sent::busy;
}

Exchange::Sent Exchange::send_some() noexcept {
  Io& up = upstream_connection_->io;
  for (int i = 0; i < kSendsPerTurn; ++i) {
    if (out_sent_ < out_size_) {
      if (!up.writable()) return Sent::blocked;
      const IoResult r = up.try_write(out_.data() + out_sent_, out_size_ - out_sent_);
      if (r.failed()) return Sent::failed;
      out_sent_ += r.n;
      request_sent_ += r.n;
      if (out_sent_ < out_size_) return Sent::blocked;
    }
    if (!body_.exists()) return Sent::all;
    if (as_chunks_) {
      if (frame_.size() == 0 && end_sent_) return Sent::all;
      if (frame_.size() == 0 && (!body_.pending().empty() || body_.complete()) && !next_frame())
        return Sent::body_malformed;
      if (frame_.size() != 0) {
        if (!up.writable()) return Sent::blocked;
        if (const Sent s = send_frame(); s != Sent::busy) return s;
        continue;
      }
    } else if (const std::string_view octets = body_.pending(); !octets.empty()) {
      if (!up.writable()) return Sent::blocked;
      const IoResult r = up.try_write(octets.data(), octets.size());
      if (r.failed()) return Sent::failed;
      body_.sent(r.n);
      request_sent_ += r.n;
      if (r.n < octets.size()) return Sent::blocked;
      continue;
    } else if (body_.all_sent()) {
      return Sent::all;
    }
    if (const Sent s = fill_body(); s != Sent::busy) return s;
  }
  return Sent::busy;
}

Exchange::Received Exchange::parse_answer() noexcept {
  const std::string_view method = ctx_.upstream_method.empty() ? ctx_.method : ctx_.upstream_method;
  const auto fault = parse_response_head({in_.data(), in_size_}, in_scanned_, worker_.settings.response_head,
                                         method == "HEAD", upstream_fields_, answer_);
  switch (fault) {
    case ResponseFault::need_more: in_scanned_ = in_size_; return Received::incomplete;
    case ResponseFault::none: break;
    default: return Received::malformed;
  }
  if (answer_.status >= 200) return Received::final_head;
  if (answer_.status == 101) {
    const bool asked = asked_upgrade_ && answer_.upgrade && upstream_fields_.find(sdk::FieldId::upgrade) != nullptr;
    // Nor can anybody agree to what has not been said to its end.
    return asked && out_sent_ == out_size_ ? Received::final_head : Received::malformed;
  }
  return ++interims_ > kMaxInterims ? Received::malformed : Received::interim;
}

Exchange::Received Exchange::receive_head() noexcept {
  if (!in_) in_ = Buffer(Buffer::kMedium);
  if (in_size_ == in_.size()) {
    if (in_.size() >= Buffer::kHuge) return Received::malformed;
    Buffer larger(in_.size() * 4 > Buffer::kHuge ? Buffer::kHuge : in_.size() * 4);
    std::memcpy(larger.data(), in_.data(), in_size_);
    in_ = std::move(larger);
  }
  const IoResult r = upstream_connection_->io.try_read(in_.data() + in_size_, in_.size() - in_size_);
  if (r.failed() || r.eof) return Received::ended;
  if (r.n == 0) return Received::incomplete;
  in_size_ += r.n;
  attempt_record().bytes_received += r.n;
  return parse_answer();
}

void Exchange::drop_interim() noexcept {
  std::memmove(in_.data(), in_.data() + answer_.size, in_size_ - answer_.size);
  in_size_ -= answer_.size;
  in_scanned_ = 0;
}

// 102, 103 and their kind go on to clients that know them; 100 was answered here already.
Task<bool> Exchange::forward_interim() noexcept {
  if (answer_.status == 100 || ctx_.version_minor == 0) co_return true;
  std::size_t size = 64 + answer_.reason.size();
  for (const sdk::Field& f : upstream_fields_) size += f.name.size() + f.value.size() + 4;
  if (size > Buffer::kHuge) co_return true;
  Buffer text(size);
  HeadWriter w(text.data(), text.size());
  w.text("HTTP/1.1 ");
  w.number(answer_.status);
  w.text(" ");
  w.text(answer_.reason);
  w.text("\r\n");
  for (const sdk::Field& f : upstream_fields_)
    if (f.id == sdk::FieldId::other) w.field(f.name, f.value);
  w.text("\r\n");
  answered_ = true;
  const std::string_view octets(text.data(), w.size());
  const bool written = co_await write_client(octets);
  co_return written;
}

Task<Exchange::Asked> Exchange::ask() noexcept {
  Io& up = upstream_connection_->io;
  Io& client = session_.client;
  Fiber& fiber = session_.fiber;
  in_size_ = in_scanned_ = 0;
  interims_ = 0;
  if (body_.exists() && !body_.complete() && body_.received() == 0) {
    const Sent s = fill_body();  // what came with the head can leave with it
    if (s == Sent::body_malformed) co_return Asked::body_malformed;
    if (s == Sent::body_too_large) co_return Asked::body_too_large;
    if (s == Sent::client_gone) co_return Asked::client_gone;
  }
  if (!compose_request()) co_return Asked::malformed;
  take_body_at_hand();

  Sent sent = Sent::busy;
  bool graced = false;
  while (true) {
    if (sent != Sent::all && sent != Sent::failed) sent = send_some();
    if (sent == Sent::body_malformed) co_return Asked::body_malformed;
    if (sent == Sent::body_too_large) co_return Asked::body_too_large;
    if (sent == Sent::client_gone) co_return Asked::client_gone;
    if (up.readable() || sent == Sent::failed) {
      Received got = receive_head();
      while (got == Received::interim) {
        const bool there = co_await forward_interim();
        if (!there) co_return Asked::client_gone;
        drop_interim();
        got = parse_answer();
      }
      if (got == Received::final_head) co_return Asked::answered;
      if (got == Received::malformed) co_return Asked::malformed;
      if (got == Received::ended || sent == Sent::failed)
        co_return request_sent_ == 0 ? Asked::send_failed_clean : Asked::failed;
      if (up.readable()) continue;
    }
    if (sent == Sent::busy) {
      const Why why = co_await fiber.yield();
      if (why == Why::cancelled) co_return Asked::cancelled;
      continue;
    }
    const auto& timeouts = route_->timeouts();
    const bool starved = sent == Sent::starved;
    const bool blocked = sent == Sent::blocked;
    const TimePoint now = worker_.reactor.now();
    if (client.failed()) co_return Asked::client_gone;
    if (client.hangup() && !starved) {
      // It has closed its side; it may still read. It gets a little time, not the node's whole patience.
      if (!graced) fiber.set_deadline(now + std::min(worker_.settings.grace_after_half_close, timeouts.read));
      graced = true;
    } else {
      fiber.set_deadline(now + (blocked ? timeouts.send : starved ? worker_.settings.body_timeout : timeouts.read));
    }
    const std::uint8_t up_want = blocked ? kRead | kWrite : kRead;
    const std::uint8_t client_want =
        static_cast<std::uint8_t>((starved ? kRead : 0) | (client.hangup() ? 0 : kHangup));
    const Why why = co_await fiber.any(up, up_want, client, client_want);
    if (why == Why::cancelled) co_return Asked::cancelled;
    if (why == Why::deadline)
      co_return graced ? Asked::client_gone : starved ? Asked::body_timeout : Asked::timed_out;
  }
}

}  // namespace sluice::worker
