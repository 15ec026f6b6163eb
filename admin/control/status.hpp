// The status listener: is the process there, and has every worker its configuration?
#pragma once

#include <cstdint>
#include <memory>

#include "admin/http/message.hpp"
#include "shm/worker_table.hpp"

namespace sluice::admin {

class Status {
 public:
  // `workers`: how many the current generation should have.
  Status(const shm::WorkerTable& table, std::uint64_t generation, int workers)
      : table_(table), generation_(generation), workers_(workers) {}
  void handle(const std::shared_ptr<const http::Request>& request, const http::Respond& respond);

  // Why not every worker is ready; empty when all are.
  std::string not_ready() const;

 private:
  const shm::WorkerTable& table_;
  std::uint64_t generation_;
  int workers_;
};

}  // namespace sluice::admin
