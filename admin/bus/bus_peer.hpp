// BusPeer: one worker's connection to the bus, with its bounded queue.
//
// Frames go out in order, several per system call. A snapshot is not queued but streamed: the next part is made when
// the queue runs low; batches published meanwhile wait behind it, within the same bound.
#pragma once

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/bus/bus_state.hpp"
#include "worker/live/bus_protocol.hpp"

namespace sluice::admin {

class BusPeer;

// Who owns the peers. Both calls may close the peer that calls.
class BusPeerOwner {
 public:
  virtual void on_message(BusPeer& peer, live::bus::Message& message) = 0;
  virtual void on_gone(BusPeer& peer, const char* why) = 0;

 protected:
  ~BusPeerOwner() = default;
};

class BusPeer : public std::enable_shared_from_this<BusPeer> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;

  BusPeer(Socket socket, std::size_t queue_bound, BusPeerOwner& owner)
      : socket_(std::move(socket)), queue_bound_(queue_bound), owner_(owner) {}

  void start() { read(); }
  void close(const char* why);  // on_gone is called, once
  void abandon() noexcept;      // closes without a word: the owner goes too

  // False when the queue is full; the peer is closed then.
  bool send(Octets frame);
  bool send(const live::bus::Message& message) {
    return send(std::make_shared<const std::string>(live::bus::encode(message)));
  }
  // A snapshot of `at`; frames sent from now on follow it.
  void send_snapshot(live::bus::Position at, std::uint64_t revision, std::vector<Octets> objects);

  bool closed() const noexcept { return closed_; }
  bool overflowed() const noexcept { return overflowed_; }

  // What the server knows of the worker behind it.
  std::optional<live::bus::Hello> hello;
  std::uint64_t acknowledged = 0;      // sequence of this epoch
  std::uint32_t credential_pid = 0;

 private:
  void read();
  void take_frames();
  void write();
  void pump_snapshot();

  Socket socket_;
  std::size_t queue_bound_;
  BusPeerOwner& owner_;
  bool closed_ = false;
  bool overflowed_ = false;

  live::bus::FrameReader reader_{live::bus::kMaxUpwardPayload};
  std::array<char, 16 * 1024> chunk_;

  std::deque<Octets> queue_;           // to be written
  std::vector<Octets> in_flight_;
  std::size_t queued_bytes_ = 0;       // of queue_, in_flight_ and behind_
  bool writing_ = false;

  struct Snapshot {
    live::bus::Position at;
    std::vector<Octets> objects;
    std::size_t next = 0;
  };
  std::optional<Snapshot> snapshot_;
  std::deque<Octets> behind_;          // what follows the snapshot
};

}  // namespace sluice::admin
