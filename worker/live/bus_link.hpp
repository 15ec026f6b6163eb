// BusLink: one worker's live tables on the bus, ready to use.
//
// It joins what belongs together: the bus client applies changes to the tables in slices, the tables' need for names
// goes up to the admin process and the addresses come back, and the worker's row of the shared table says which
// (epoch, sequence) is in force. Setting `ready` there is the worker's own business, once its listeners are registered.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "worker/live/bus_client.hpp"
#include "worker/live/tables.hpp"

namespace sluice::shm {
struct WorkerStatus;
}

namespace sluice::live {

// The tables as the client sees them.
class TablesTarget final : public ChangeTarget {
 public:
  explicit TablesTarget(Tables& tables) : tables_(tables) {}

  void stage(std::vector<Change> changes, bool whole) override;
  bool step(TimePoint deadline) override { return stager_->step(deadline); }
  std::vector<ObjectError> publish() override;
  void set_addresses(std::string_view name, std::span<const IpAddress> addresses) override;
  // The tables begin to use a name: whether its addresses are here already (they come before the batch that needs them).
  bool give_known(std::string_view name);

 private:
  void forget_unused();

  Tables& tables_;
  std::unique_ptr<Stager> stager_;
  std::map<std::string, std::vector<IpAddress>, std::less<>> known_;
};

class BusLink {
 public:
  // Takes over tables.on_name. `row` may be nullptr; tables and row outlive the link. hooks.on_applied is called after
  // the row is up to date; object errors are logged here.
  BusLink(boost::asio::io_context& io, Tables& tables, shm::WorkerStatus* row, BusClientOptions options,
          BusClientHooks hooks);
  ~BusLink();

  void start() { client_.start(); }
  void stop() noexcept { client_.stop(); }
  BusClient& client() noexcept { return client_; }

 private:
  static BusClientHooks with_row(shm::WorkerStatus* row, BusClientHooks hooks);

  Tables& tables_;
  TablesTarget target_;
  BusClient client_;
};

}  // namespace sluice::live
