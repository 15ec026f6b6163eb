// BusClient: the worker's end of the config bus.
//
// It connects to the admin process, takes snapshots and batches in order, has them applied in slices that never hold
// the loop for long, and acknowledges what is in force. When the admin process goes away the worker serves on with
// what it has; the client reconnects (back-off with jitter) and resumes from its position, or gets a snapshot that is
// applied as a difference. One client per worker, on the worker's io_context; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/cidr.hpp"
#include "conf/base/clock.hpp"
#include "worker/live/bus_protocol.hpp"
#include "worker/live/change.hpp"

namespace boost::asio {
class io_context;
}

namespace sluice::live {

// What the client drives: the live tables, behind the few calls it needs (see bus_tables.hpp), or a fake in tests.
// The order is stage, step until true, publish; set_addresses may come between any two of them.
class ChangeTarget {
 public:
  virtual ~ChangeTarget() = default;
  // `whole`: the changes are everything there is; what is not among them goes when they are published.
  virtual void stage(std::vector<Change> changes, bool whole) = 0;
  // Works until `deadline`; true when everything staged is ready to be published.
  virtual bool step(TimePoint deadline) = 0;
  virtual std::vector<ObjectError> publish() = 0;
  virtual void set_addresses(std::string_view name, std::span<const IpAddress> addresses) = 0;
};

struct BusClientOptions {
  std::string address;  // of the listener; abstract ones begin with '\0'
  std::uint32_t slot = 0;
  std::uint32_t pid = 0;
  std::uint64_t generation = 0;
  nanoseconds slice = std::chrono::microseconds(800);
  nanoseconds first_retry = milliseconds(5);
  nanoseconds longest_retry = milliseconds(500);
  std::uint64_t seed = 0;  // of the jitter
  std::function<TimePoint()> clock = monotonic_now;
};

// All optional. Called from the loop.
struct BusClientHooks {
  std::function<void(const bus::Position&, std::size_t errors)> on_applied;
  std::function<void()> on_first_snapshot;
  std::function<void(const ObjectError&)> on_object_error;
  std::function<std::string(std::string_view question)> answer;
};

class BusClient {
 public:
  BusClient(boost::asio::io_context& io, BusClientOptions options, ChangeTarget& target, BusClientHooks hooks = {});
  ~BusClient();  // stops
  BusClient(const BusClient&) = delete;
  BusClient& operator=(const BusClient&) = delete;

  void start();
  void stop() noexcept;

  // Asks the admin process for the addresses of a name, now and after every reconnect; they come by set_addresses.
  void resolve(std::string_view name);
  // Nobody here needs the name any more: it is not asked for again after a reconnect.
  void forget(std::string_view name);
  // Reports the first use of an upstream, once per key and connection.
  void upstream_used(std::string_view key);

  const bus::Position& position() const noexcept;  // what is in force
  bool connected() const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::live
