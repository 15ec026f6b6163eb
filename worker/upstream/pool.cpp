#include "worker/upstream/pool.hpp"

#include <cstddef>
#include <cstring>

namespace sluice::worker {

namespace {

bool same_address(const live::SocketAddress& a, const live::SocketAddress& b) noexcept {
  return a.length == b.length && std::memcmp(a.data(), b.data(), a.length) == 0;
}

UpstreamConnection& of(Io& io) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  return *reinterpret_cast<UpstreamConnection*>(reinterpret_cast<char*>(&io) - offsetof(UpstreamConnection, io));
#pragma GCC diagnostic pop
}

}  // namespace

void UpstreamPool::unlink(Bucket& bucket, UpstreamConnection& c) noexcept {
  (c.newer_ != nullptr ? c.newer_->older_ : bucket.newest) = c.older_;
  (c.older_ != nullptr ? c.older_->newer_ : bucket.oldest) = c.newer_;
  c.newer_ = c.older_ = nullptr;
  --bucket.count;
  --idle_;
}

UpstreamConnection* UpstreamPool::take(const live::Node& node) noexcept {
  const auto at = buckets_.find(node.pool_key);
  if (at == buckets_.end()) return nullptr;
  Bucket& bucket = at->second;
  while (UpstreamConnection* c = bucket.newest) {
    if (!same_address(c->address, node.socket)) return nullptr;  // two nodes with one hash: no sharing
    unlink(bucket, *c);
    c->io.interest = 0;
    c->io.owner = nullptr;
    if (c->io.readable() || c->io.hangup()) {  // news of this very batch
      discard(*c);
      continue;
    }
    c->reused = true;
    return c;
  }
  return nullptr;
}

void UpstreamPool::put(UpstreamConnection& c, const live::KeepalivePool& limits) noexcept {
  c.io.interest = 0;
  // A read that happened to fill its buffer leaves the socket's state open: ask.
  const bool clean = !c.io.hangup() && (!c.io.readable() || c.io.quiet());
  if (!clean || limits.size == 0 || c.requests >= limits.requests || limits.idle_timeout.count() <= 0) {
    discard(c);
    return;
  }
  Bucket& bucket = buckets_[c.key];
  if (bucket.newest != nullptr && !same_address(bucket.newest->address, c.address)) {
    discard(c);
    return;
  }
  while (bucket.count >= limits.size) {
    UpstreamConnection& oldest = *bucket.oldest;
    unlink(bucket, oldest);
    discard(oldest);
  }
  reactor_.settle_readable(c.io);
  c.io.owner = this;
  c.io.interest = kRead | kHangup;
  c.idle_since = reactor_.now();
  c.idle_timeout = limits.idle_timeout;
  c.older_ = bucket.newest;
  c.newer_ = nullptr;
  (bucket.newest != nullptr ? bucket.newest->newer_ : bucket.oldest) = &c;
  bucket.newest = &c;
  ++bucket.count;
  ++idle_;
}

void UpstreamPool::discard(UpstreamConnection& c) noexcept {
  c.io.owner = nullptr;
  reactor_.close(c.io);
  reactor_.retire(c);
}

void UpstreamPool::on_io(Io& io) noexcept {
  UpstreamConnection& c = of(io);
  unlink(buckets_[c.key], c);
  discard(c);
}

void UpstreamPool::expire(TimePoint now) noexcept {
  for (auto at = buckets_.begin(); at != buckets_.end();) {
    Bucket& bucket = at->second;
    while (bucket.oldest != nullptr && bucket.oldest->idle_since + bucket.oldest->idle_timeout <= now) {
      UpstreamConnection& c = *bucket.oldest;
      unlink(bucket, c);
      discard(c);
    }
    // An empty bucket stays while its node may be in use again soon; thousands of stale ones would cost every sweep.
    at = bucket.count == 0 && buckets_.size() > 4096 ? buckets_.erase(at) : std::next(at);
  }
}

void UpstreamPool::clear() noexcept {
  for (auto& [key, bucket] : buckets_) {
    while (UpstreamConnection* c = bucket.oldest) {
      unlink(bucket, *c);
      discard(*c);
    }
  }
}

}  // namespace sluice::worker
