// A worker process from fork to exit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "conf/node_config.hpp"
#include "shm/catalog.hpp"
#include "worker/process/listen_socket.hpp"

namespace sluice::worker {

struct WorkerStart {
  int index = 0;                    // `sluice: worker N`
  std::uint32_t slot = 0;           // in the shared tables; unique over living generations
  std::uint64_t generation = 0;
  const conf::NodeConfig* node = nullptr;
  shm::Catalog* catalog = nullptr;
  std::vector<ListenSocket> proxy_listeners;
  std::string bus_address;          // abstract Unix socket, first octet NUL
  pid_t master_pid = 0;
};

// Serves until told to stop; returns the exit code.
// REQUIRES: called in the forked child, rights already dropped, log open. TERM, QUIT and USR1 are blocked on entry
// (none is lost before their handlers stand); this unblocks them.
int run_worker(const WorkerStart& start) noexcept;

}  // namespace sluice::worker
