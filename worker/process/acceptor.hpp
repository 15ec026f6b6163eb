// Acceptor: takes connections from one shared listening socket, in bounded batches.
//
// All workers watch the same socket (level-triggered), so nothing waits when one of them dies. A worker that clearly has
// more connections than the least loaded living one takes its eyes off the socket for a moment and leaves the queue to
// the others; when nobody takes it, it comes back. The same is done at the connection limit and when descriptors run
// short: an eighth of them (16 at least) is kept for what open connections need, their upstream connections above all.
#pragma once

#include <cstdint>

#include "worker/exchange/worker_context.hpp"
#include "worker/io/io.hpp"
#include "worker/process/listen_socket.hpp"

namespace sluice::worker {

class Acceptor final : public IoOwner {
 public:
  // own_slot: row of this worker in the shared table, -1: alone.
  Acceptor(WorkerContext& worker, const ListenSocket& socket, std::size_t max_connections, int own_slot) noexcept;
  ~Acceptor() { stop(); }
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  bool watch() noexcept;      // begins (again) to take connections
  bool paused() const noexcept { return paused_; }
  void tick() noexcept;       // call every few milliseconds while paused()
  void stop() noexcept;       // for good: closes this process's copy of the socket
  void on_io(Io& io) noexcept override;

  // Called when a pause begins.
  void (*on_pause)(void* argument) = nullptr;
  void* on_pause_argument = nullptr;

 private:
  void pause(unsigned ticks) noexcept;
  bool leave_to_others() const noexcept;
  bool descriptors_short() noexcept;

  WorkerContext& worker_;
  Io io_;
  int fd_;
  std::uint16_t port_ = 0;
  bool proxy_protocol_;
  bool paused_ = false;
  unsigned ticks_left_ = 0;
  unsigned declined_ = 0;     // in a row
  std::size_t max_connections_;
  int short_from_;             // descriptor numbers from here on are kept back
  bool short_seen_ = false;
  int own_slot_;
};

}  // namespace sluice::worker
