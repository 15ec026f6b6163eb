// See bus_link.hpp.
#include "worker/live/bus_link.hpp"

#include <utility>

#include "conf/base/log.hpp"
#include "shm/worker_table.hpp"

namespace sluice::live {

namespace {
constexpr std::size_t kMaxKnown = 20000;
}

void TablesTarget::stage(std::vector<Change> changes, bool whole) {
  stager_ = std::make_unique<Stager>(tables_, std::move(changes), whole ? Stager::Mode::snapshot : Stager::Mode::change);
}

std::vector<ObjectError> TablesTarget::publish() {
  std::vector<ObjectError> errors = stager_->publish();
  stager_.reset();
  return errors;
}

void TablesTarget::set_addresses(std::string_view name, std::span<const IpAddress> addresses) {
  known_[std::string(name)].assign(addresses.begin(), addresses.end());
  if (known_.size() > kMaxKnown) forget_unused();
  tables_.set_addresses(name, addresses);
}

bool TablesTarget::give_known(std::string_view name) {
  const auto it = known_.find(name);
  if (it == known_.end()) return false;
  tables_.set_addresses(name, it->second);
  return true;
}

void TablesTarget::forget_unused() {
  decltype(known_) kept;
  for (const std::string& name : tables_.names_in_use())
    if (auto node = known_.extract(name)) kept.insert(std::move(node));
  known_ = std::move(kept);
}

BusClientHooks BusLink::with_row(shm::WorkerStatus* row, BusClientHooks hooks) {
  hooks.on_applied = [row, then = std::move(hooks.on_applied)](const bus::Position& at, std::size_t errors) {
    if (row) {
      row->config_epoch.store(at.epoch, std::memory_order_relaxed);
      row->config_sequence.store(at.sequence, std::memory_order_release);
    }
    if (then) then(at, errors);
  };
  hooks.on_object_error = [then = std::move(hooks.on_object_error)](const ObjectError& error) {
    log::error("configuration: " + conf::join_key(error.kind, error.id) + ": " + error.message);
    if (then) then(error);
  };
  return hooks;
}

BusLink::BusLink(boost::asio::io_context& io, Tables& tables, shm::WorkerStatus* row, BusClientOptions options,
                 BusClientHooks hooks)
    : tables_(tables), target_(tables), client_(io, std::move(options), target_, with_row(row, std::move(hooks))) {
  tables_.on_name = [this](std::string_view name, bool needed) {
    if (!needed) return client_.forget(name);
    target_.give_known(name);
    client_.resolve(name);
  };
  for (const std::string& name : tables_.names_in_use()) client_.resolve(name);
}

BusLink::~BusLink() { tables_.on_name = nullptr; }

}  // namespace sluice::live
