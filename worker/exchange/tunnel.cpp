// After a 101 that was asked for: octets both ways until both sides have ended, or one is silent for too long.
//
// Each direction has a buffer only while octets are in it. An end of one side is passed on to the other; the rest of the
// other direction then has a short time.
#include "worker/exchange/exchange.hpp"

namespace sluice::worker {

namespace {
constexpr nanoseconds kAfterEnd = seconds(10);
}  // namespace

// One direction of the tunnel.
struct TunnelLane {
  Io& from;
  Io& to;
  Buffer block;
  std::string_view pending;
  bool ended = false;    // `from` has said its last
  bool passed = false;   // and `to` knows it
  bool broken = false;
  std::uint64_t octets = 0;

  bool move() noexcept {
    bool moved = false;
    if (!pending.empty() && to.writable()) {
      const IoResult w = to.try_write(pending.data(), pending.size());
      broken = broken || w.failed();
      pending.remove_prefix(w.n);
      octets += w.n;
      moved = w.n != 0;
    }
    if (!pending.empty() || broken) return moved;
    if (!ended && from.readable()) {
      if (!block) block = Buffer(Buffer::kMedium);
      const IoResult r = from.try_read(block.data(), block.size());
      pending = {block.data(), r.n};
      ended = r.eof;
      broken = r.failed();
      moved = moved || r.n != 0 || r.eof;
      if (r.n == 0) block.reset();
    } else if (pending.empty()) {
      block.reset();
    }
    if (ended && pending.empty() && !passed) {
      to.shutdown_write();
      passed = true;
    }
    return moved;
  }
  std::uint8_t want_from() const noexcept { return pending.empty() && !ended ? kRead : 0; }
  std::uint8_t want_to() const noexcept { return pending.empty() ? 0 : kWrite; }
};

Task<void> Exchange::tunnel() noexcept {
  keep_open_ = false;
  Io& up = upstream_connection_->io;
  Io& client = session_.client;
  const std::string_view head(relay_.data(), relay_size_);
  const bool written = co_await write_client(head);
  if (!written) {
    client_gone_ = true;
    release_upstream(false);
    co_return;
  }
  answered_ = true;
  TunnelLane down{up, client, {}, {}};
  TunnelLane upward{client, up, {}, {}};
  down.pending = {in_.data() + answer_.size, in_size_ - answer_.size};
  const std::string_view early = session_.buffered();  // sent with the handshake
  upward.pending = early;
  session_.consume(early.size());
  int turns = 0;
  while (!down.broken && !upward.broken && !(down.passed && upward.passed)) {
    const bool moved_down = down.move();
    const bool moved_up = upward.move();
    if (moved_down || moved_up) {
      if (++turns % 64 != 0) continue;
      const Why why = co_await session_.fiber.yield();
      if (why == Why::cancelled) break;
      continue;
    }
    const auto& timeouts = route_->timeouts();
    const nanoseconds silence = down.ended || upward.ended ? kAfterEnd : std::max(timeouts.read, timeouts.send);
    session_.fiber.set_deadline(worker_.reactor.now() + silence);
    const auto want_up = static_cast<std::uint8_t>(down.want_from() | upward.want_to());
    const auto want_client = static_cast<std::uint8_t>(upward.want_from() | down.want_to());
    const Why why = co_await session_.fiber.any(up, want_up, client, want_client);
    if (why == Why::cancelled || why == Why::deadline) break;
  }
  ctx_.body_bytes_sent = down.octets;
  ctx_.bytes_sent += down.octets;
  ctx_.request_bytes += upward.octets;
  attempt_record().body_received = down.octets;
  whole_ = true;
  release_upstream(false);
}

}  // namespace sluice::worker
