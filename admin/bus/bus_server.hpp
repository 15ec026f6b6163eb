// BusServer: the admin process's end of the config bus.
//
// One thread, one io_context. Every write becomes a batch with the next sequence and goes to all workers; the write is
// answered when they have it in force (ack_waits.hpp). A worker says hello with its position and gets what it missed,
// or a snapshot, streamed as fast as it reads. Each worker's queue is bounded: one that does not read is dropped and
// resyncs when it comes back. Host names in changed objects are looked up before the change goes out (bounded), so
// that no worker ever has an upstream whose addresses are still on their way; writes keep their order meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/bus/ack_waits.hpp"
#include "admin/dns/name_source.hpp"
#include "conf/base/clock.hpp"
#include "worker/live/change.hpp"

namespace boost::asio {
class io_context;
}

namespace sluice::admin {

struct BusOptions {
  std::uint64_t epoch = 1;       // of this life of the admin process; larger than every one before, never 0
  std::uint64_t generation = 0;  // whose workers a write waits for
  std::size_t ring_batches = 1024;
  std::size_t ring_bytes = 16u << 20;
  std::size_t peer_queue_bytes = 64u << 20;
  nanoseconds write_bound = seconds(1);      // a write is answered by then
  nanoseconds names_bound = milliseconds(700);  // of which the lookup of new names may take so much
  std::function<TimePoint()> clock = monotonic_now;
};

// All optional. Called from the loop.
struct BusHooks {
  // Whether the slot is that process's; unset: everyone of this user is believed.
  std::function<bool(std::uint32_t slot, std::uint32_t pid)> is_worker;
  std::function<std::vector<LiveWorker>()> accepting_workers;  // of the current generation, by the worker table
  std::function<void(std::uint32_t slot, const live::ObjectError&)> on_object_error;
  std::function<void(std::uint32_t slot, const std::string& key)> on_upstream_used;
};

class BusServer {
 public:
  // `listener`: descriptor of a listening Unix stream socket; the server uses a duplicate. `names` may be nullptr and
  // must outlive the server otherwise; its on_answer becomes the server's.
  BusServer(boost::asio::io_context& io, int listener, BusOptions options, BusHooks hooks, NameSource* names = nullptr);
  ~BusServer();  // stops
  BusServer(const BusServer&) = delete;
  BusServer& operator=(const BusServer&) = delete;

  // Everything there is at start. REQUIRES: before start().
  void load(std::uint64_t revision, const std::vector<live::Change>& everything);
  void start();
  void stop() noexcept;

  // One committed revision. `done` is called once, when it is in force or the bound has passed.
  void publish(std::uint64_t revision, std::vector<live::Change> changes, OnApplied done = {});
  // The whole configuration anew (standalone file, PUT configs): publishes the difference as one batch.
  void replace(std::uint64_t revision, std::vector<live::Change> everything, OnApplied done = {});

  // Puts a question to one worker that is up to date; nothing when there is none, or it does not answer in time.
  void ask(std::string question, std::function<void(std::optional<std::string>)> done);
  // A new list of enabled plugins, a JSON array of names: travels as a change like any other, so that a worker that
  // comes later has it too.
  void reload_plugins(const std::string& names_json);

  std::uint64_t sequence() const noexcept;   // of the last batch
  std::uint64_t revision() const noexcept;   // of the last batch
  std::size_t peers() const noexcept;        // workers connected
  std::size_t snapshots_sent() const noexcept;
  std::size_t overflows() const noexcept;    // workers dropped because they did not read

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::admin
