// The answer's body, from the node to the client, in constant memory: one buffer that is read into and written from.
//
// What comes is judged by the framing of the node's answer (take_octets), goes through the body filters where there are
// any, and is framed again for the client. While the client does not take octets, none are read from the node. The
// request's body may still be on its way up at the same time (upload).
#include <cstring>

#include "worker/exchange/exchange.hpp"

namespace sluice::worker {

namespace {

constexpr std::size_t kFront = 32;   // room before a payload for a chunk's size
constexpr std::size_t kBack = 16;    // room after it for the chunk's end and the last chunk
constexpr int kTurns = 64;           // moves before others get a turn
constexpr std::string_view kFrontRoom = "                                ";
constexpr std::string_view kBackRoom = "                ";
static_assert(kFrontRoom.size() == kFront && kBackRoom.size() == kBack);

// The last step writes into filtered_, every other one into the step after it.
class FilterSink final : public sdk::BodySink {
 public:
  FilterSink(std::span<const sdk::BodyStep> steps, sdk::RequestContext& ctx, ByteString& out) noexcept
      : steps_(steps), ctx_(ctx), out_(out) {}
  void write(std::string_view octets) noexcept override {
    if (!octets.empty()) pass(octets, false);
  }
  void pass(std::string_view octets, bool last) noexcept {
    if (steps_.empty()) {
      out_.append(octets);
      return;
    }
    const sdk::BodyStep& step = steps_.front();
    FilterSink next(steps_.subspan(1), ctx_, out_);
    if (!sdk::passes_filter(*step.instance, ctx_)) {
      next.pass(octets, last);
      return;
    }
    step.run(step.self, ctx_, sdk::BodyChunk{octets, last}, next);
    if (last) next.pass({}, true);
  }

 private:
  std::span<const sdk::BodyStep> steps_;
  sdk::RequestContext& ctx_;
  ByteString& out_;
};

}  // namespace

// Appends to filtered_ what the filters make of the octets.
void Exchange::filter_piece(std::string_view octets, bool last) noexcept {
  const auto own = chain_ != nullptr ? chain_->body_filter : std::span<const sdk::BodyStep>();
  if (global_->body_filter.empty() || own.empty()) {
    FilterSink sink(own.empty() ? global_->body_filter : own, ctx_, filtered_);
    sink.pass(octets, last);
    return;
  }
  ByteString between;
  FilterSink first(global_->body_filter, ctx_, between);
  first.pass(octets, last);
  FilterSink second(own, ctx_, filtered_);
  second.pass(between.view(), last);
}

// Judges octets of the answer's body; the payload among them becomes piece_. Sets flow_.
Exchange::Flow Exchange::take_octets(char* data, std::size_t n, bool eof) noexcept {
  piece_ = {};
  std::size_t used = n;
  switch (answer_.framing) {
    case BodyFraming::none: used = 0; flow_ = Flow::done; break;
    case BodyFraming::length:
      used = static_cast<std::size_t>(std::min<std::uint64_t>(n, answer_left_));
      piece_ = {data, used};
      answer_left_ -= used;
      if (answer_left_ == 0) flow_ = Flow::done;
      break;
    case BodyFraming::chunked: {
      if (!answer_trailer_) answer_trailer_ = Buffer(ChunkDecoder::kMaxTrailer);
      const ChunkDecoder::Step step = answer_chunks_.decode(data, n, answer_trailer_.data());
      used = step.used;
      piece_ = {data + step.offset, step.payload};
      if (step.status == ChunkDecoder::Status::done) flow_ = Flow::done;
      if (step.status == ChunkDecoder::Status::fault) flow_ = Flow::cut;
      break;
    }
    case BodyFraming::until_close:
      piece_ = {data, n};
      if (eof) flow_ = Flow::done;
      break;
  }
  if (used < n) dirty_ = true;
  if (eof && flow_ == Flow::going) flow_ = Flow::cut;
  attempt_record().body_received += piece_.size();
  return flow_;
}

// piece_ (with room around it, or the filters' output) becomes client_out_.
void Exchange::frame_piece() noexcept {
  const bool at_end = flow_ == Flow::done;
  char* begin = const_cast<char*>(piece_.data());
  std::size_t n = piece_.size();
  if (filters_) {
    filtered_.clear();
    filtered_.append(kFrontRoom);
    filter_piece(piece_, at_end);
    n = filtered_.size() - kFront;
    filtered_.append(kBackRoom);
    begin = const_cast<char*>(filtered_.view().data()) + kFront;
  }
  if (client_counts_) n = static_cast<std::size_t>(std::min<std::uint64_t>(n, client_length_ - body_out_));
  body_out_ += n;
  if (!client_chunked_) {
    client_out_ = {begin, n};
    return;
  }
  char* end = begin + n;
  if (n != 0) {
    begin = write_chunk_size(begin, n);
    *end++ = '\r';
    *end++ = '\n';
  }
  if (at_end && answer_chunks_.trailer_size() == 0) {
    std::memcpy(end, "0\r\n\r\n", 5);
    end += 5;
  }
  client_out_ = {begin, static_cast<std::size_t>(end - begin)};
}

// The composed head, and the body's octets that came with the answer's head: in one piece of memory where they fit, which
// is the rule, else one after the other.
void Exchange::begin_client_out() noexcept {
  client_out_ = {relay_.data(), relay_size_};
  if (bodiless_) {
    if (in_size_ > answer_.size || answer_.framing != BodyFraming::none) dirty_ = true;  // nobody will read it
    flow_ = Flow::done;
    return;
  }
  const std::string_view head = client_out_;
  if (gathered_) {
    piece_ = whole_body_.view().substr(kFront);
    whole_body_.append(kBackRoom);
    piece_ = whole_body_.view().substr(kFront, piece_.size());
  } else {
    take_octets(in_.data() + answer_.size, in_size_ - answer_.size, false);
    if (!filters_) {
      if (piece_.size() + kFront + kBack <= relay_.size() - relay_size_) {
        char* const at = relay_.data() + relay_size_ + kFront;
        if (!piece_.empty()) std::memcpy(at, piece_.data(), piece_.size());
        piece_ = {at, piece_.size()};
      } else {
        whole_body_.append(kFrontRoom);
        whole_body_.append(piece_);
        whole_body_.append(kBackRoom);
        piece_ = whole_body_.view().substr(kFront, piece_.size());
      }
    }
  }
  frame_piece();
  if (client_out_.size() > relay_.size() - relay_size_) {
    client_next_ = client_out_;
    client_out_ = head;
    return;
  }
  if (!client_out_.empty()) std::memmove(relay_.data() + relay_size_, client_out_.data(), client_out_.size());
  client_out_ = {relay_.data(), relay_size_ + client_out_.size()};
}

bool Exchange::upload(bool& uploading) noexcept {
  const std::uint64_t before = request_sent_ + body_.raw_octets();
  const Sent sent = send_some();
  if (sent == Sent::all || sent == Sent::failed) uploading = false;
  if (sent == Sent::body_malformed || sent == Sent::body_too_large || sent == Sent::client_gone) {
    uploading = false;
    linger_ = true;
    flow_ = Flow::cut;  // the node cannot give a true answer to half a request
  }
  return request_sent_ + body_.raw_octets() != before;
}

// Waits for whatever may go on. False: the client is gone, or time is up (flow_ says for whom).
Task<bool> Exchange::relay_wait(bool& uploading) noexcept {
  Io& up = upstream_connection_->io;
  Io& client = session_.client;
  const bool writing = !client_out_.empty();
  const bool blocked = uploading && !up.writable();
  const auto& timeouts = route_->timeouts();
  session_.fiber.set_deadline(worker_.reactor.now() +
                              (writing ? worker_.settings.send_timeout : blocked ? timeouts.send : timeouts.read));
  const auto up_want = static_cast<std::uint8_t>((writing ? 0 : kRead) | (blocked ? kWrite : 0));
  const auto client_want = static_cast<std::uint8_t>((writing ? kWrite : 0) | (uploading && !blocked ? kRead : 0) |
                                                     (client.hangup() ? 0 : kHangup));
  const Why why = co_await session_.fiber.any(up, up_want, client, client_want);
  if (why == Why::deadline && !writing) flow_ = Flow::cut;
  if (why == Why::cancelled || client.failed() || (why == Why::deadline && writing)) client_gone_ = true;
  co_return !client_gone_ && flow_ != Flow::cut;
}

Task<bool> Exchange::relay() noexcept {
  Io& up = upstream_connection_->io;
  Io& client = session_.client;
  bool uploading = !(out_sent_ == out_size_ && body_.all_sent() && (!as_chunks_ || end_sent_));
  begin_client_out();
  bool trailer_due = client_chunked_;
  int turns = 0;
  while (true) {
    bool moved = false;
    if (!client_out_.empty() && client.writable()) {
      const IoResult r = client.try_write(client_out_.data(), client_out_.size());
      if (r.failed()) {
        client_gone_ = true;
        co_return false;
      }
      answered_ = true;
      ctx_.bytes_sent += r.n;
      client_out_.remove_prefix(r.n);
      moved = r.n != 0;
    }
    if (client_out_.empty() && !client_next_.empty()) {
      client_out_ = std::exchange(client_next_, {});
      continue;
    }
    if (client_out_.empty()) {
      if (flow_ == Flow::cut) co_return false;
      if (flow_ == Flow::done) {
        if (trailer_due && answer_chunks_.trailer_size() != 0) {
          trailer_due = false;
          sdk::HeaderList trailers(ctx_.arena);
          if (!parse_trailers({answer_trailer_.data(), answer_chunks_.trailer_size()}, trailers)) co_return false;
          filtered_.clear();
          filtered_.append("0\r\n");
          if (!filters_)
            for (const sdk::Field& f : trailers) filtered_.append(ctx_.arena.concat({f.name, ": ", f.value, "\r\n"}));
          filtered_.append("\r\n");
          client_out_ = filtered_.view();
          continue;
        }
        ctx_.body_bytes_sent = body_out_;
        co_return !client_counts_ || body_out_ == client_length_;
      }
      if (up.readable()) {
        if (relay_.size() < Buffer::kMedium) relay_ = Buffer(Buffer::kMedium);
        const IoResult r = up.try_read(relay_.data() + kFront, relay_.size() - kFront - kBack);
        if (r.n != 0 || r.eof) {
          attempt_record().bytes_received += r.n;
          take_octets(relay_.data() + kFront, r.n, r.eof);
          frame_piece();
          if (r.n + kFront + kBack == relay_.size() && relay_.size() < Buffer::kLarge && flow_ == Flow::going &&
              answer_left_ > Buffer::kMedium && !client_out_.empty())
            pending_growth_ = true;
          moved = true;
        } else if (r.failed()) {
          flow_ = Flow::cut;
          moved = true;
        }
      }
    }
    if (uploading && upload(uploading)) moved = true;
    if (moved) {
      if (client_out_.empty() && pending_growth_) {
        pending_growth_ = false;
        relay_ = Buffer(Buffer::kLarge);
      }
      if (++turns < kTurns) continue;
      turns = 0;
      const Why why = co_await session_.fiber.yield();
      if (why == Why::cancelled) {
        client_gone_ = true;
        co_return false;
      }
      continue;
    }
    const bool going = co_await relay_wait(uploading);
    if (!going && client_gone_) co_return false;
    if (!going && client_out_.empty()) co_return false;
  }
}

// For filters that want the answer as one piece. going: it is larger than `most`; what was read is in whole_body_.
Task<Exchange::Flow> Exchange::gather(std::size_t most) noexcept {
  Io& up = upstream_connection_->io;
  bool uploading = !(out_sent_ == out_size_ && body_.all_sent() && (!as_chunks_ || end_sent_));
  whole_body_.append(kFrontRoom);
  take_octets(in_.data() + answer_.size, in_size_ - answer_.size, false);
  whole_body_.append(piece_);
  gathered_ = true;
  Buffer block(Buffer::kMedium);
  int turns = 0;
  while (flow_ == Flow::going && whole_body_.size() <= most + kFront) {
    bool moved = false;
    if (up.readable()) {
      const IoResult r = up.try_read(block.data(), block.size());
      if (r.n != 0 || r.eof) {
        attempt_record().bytes_received += r.n;
        take_octets(block.data(), r.n, r.eof);
        whole_body_.append(piece_);
        moved = true;
      } else if (r.failed()) {
        flow_ = Flow::cut;
      }
    }
    if (uploading && upload(uploading)) moved = true;
    if (flow_ != Flow::going) break;
    if (moved && ++turns % kTurns != 0) continue;
    if (moved) {
      co_await session_.fiber.yield();
      continue;
    }
    const bool going = co_await relay_wait(uploading);
    if (!going) co_return Flow::cut;
  }
  in_size_ = answer_.size;  // dealt with
  filters_ = false;  // they run now, so that the head can say how long the result is; or not at all on what is too large
  if (flow_ == Flow::done) {
    filtered_.clear();
    filtered_.append(kFrontRoom);
    filter_piece(whole_body_.view().substr(kFront), true);
    whole_body_.clear();
    whole_body_.append(filtered_.view());
    client_chunked_ = false;
    client_counts_ = true;
    client_length_ = whole_body_.size() - kFront;
  }
  co_return flow_;
}

// For what is not a node's answer: all of it, or false when the client is gone.
Task<bool> Exchange::write_client(std::string_view octets) noexcept {
  Io& client = session_.client;
  while (!octets.empty()) {
    if (!client.writable()) {
      session_.fiber.set_deadline(worker_.reactor.now() + worker_.settings.send_timeout);
      const Why why = co_await session_.fiber.writable(client);
      if (why != Why::io) co_return false;
    }
    const IoResult r = client.try_write(octets.data(), octets.size());
    if (r.failed()) co_return false;
    ctx_.bytes_sent += r.n;
    octets.remove_prefix(r.n);
  }
  co_return true;
}

}  // namespace sluice::worker
