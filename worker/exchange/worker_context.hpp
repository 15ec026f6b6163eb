// WorkerContext: the standing things of one worker that every session uses. Owned by run_worker (or by a test).
#pragma once

#include <array>
#include <cstdint>

#include "plugins/sdk/request_context.hpp"
#include "worker/exchange/settings.hpp"
#include "worker/http1/request_head.hpp"
#include "worker/io/reactor.hpp"
#include "worker/live/tables.hpp"
#include "worker/upstream/pool.hpp"

namespace sluice::shm {
struct WorkerStatus;
class WorkerTable;
}  // namespace sluice::shm

namespace sluice::worker {

class AccessLog;
class Session;

// What is counted of bad input, by reason.
enum class Refusal : std::uint8_t {
  bad_head, bad_target, bad_host, bad_framing, head_too_large, bad_version, bad_method, body_too_large, bad_body,
  header_timeout, body_timeout, bad_answer, cut_answer, kCount,
};
std::string_view name_of(Refusal refusal) noexcept;

struct WorkerContext {
  Reactor& reactor;
  live::Tables& tables;
  UpstreamPool& pool;
  const Settings& settings;
  AccessLog* access_log = nullptr;             // nullptr: off
  sdk::ProcessInfo process;
  shm::WorkerStatus* status = nullptr;         // own row; nullptr in tests
  shm::WorkerTable* workers = nullptr;
  bool draining = false;                       // answers say Connection: close
  bool stopping = false;                       // nothing is kept open

  // The first use of an upstream by this worker; may be nullptr.
  void (*upstream_used)(void* argument, const live::Upstream& upstream) = nullptr;
  void* upstream_used_argument = nullptr;

  Session* sessions = nullptr;                 // all that live
  std::uint32_t session_count = 0;
  std::uint32_t idle_count = 0;                // of them, waiting for a request
  std::uint64_t next_connection_id = 1;
  std::array<std::uint64_t, static_cast<std::size_t>(Refusal::kCount)> refusals{};

  void count(Refusal r) noexcept { ++refusals[static_cast<std::size_t>(r)]; }
};

}  // namespace sluice::worker
