// UpstreamPool: idle connections of one worker, by node; the most recently used goes out first.
//
// A pooled connection owes us silence: any octet, and any end, discards it (the reactor tells on_io). Limits come with
// the upstream that puts a connection back: how many idle ones its node may have, for how long, and after how many
// requests a connection is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "worker/io/reactor.hpp"
#include "worker/live/upstream.hpp"
#include "worker/upstream/connection.hpp"

namespace sluice::worker {

class UpstreamPool final : public IoOwner {
 public:
  explicit UpstreamPool(Reactor& reactor) noexcept : reactor_(reactor) {}
  ~UpstreamPool() { clear(); }

  // A quiet connection to the node, or nullptr. The caller sets io.owner.
  UpstreamConnection* take(const live::Node& node) noexcept;
  // After a whole answer on a connection that stays open. Closes what the limits do not allow.
  void put(UpstreamConnection& connection, const live::KeepalivePool& limits) noexcept;
  // For a connection that is not to be used again.
  void discard(UpstreamConnection& connection) noexcept;

  void expire(TimePoint now) noexcept;  // closes what has been idle too long; call about once a second
  void clear() noexcept;
  std::size_t idle() const noexcept { return idle_; }

  void on_io(Io& io) noexcept override;

 private:
  struct Bucket {
    UpstreamConnection* newest = nullptr;
    UpstreamConnection* oldest = nullptr;
    std::uint32_t count = 0;
  };
  void unlink(Bucket& bucket, UpstreamConnection& connection) noexcept;

  Reactor& reactor_;
  std::unordered_map<std::uint64_t, Bucket> buckets_;
  std::size_t idle_ = 0;
};

}  // namespace sluice::worker
