// The admin process from fork to exit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "conf/node_config.hpp"
#include "shm/catalog.hpp"
#include "worker/process/listen_socket.hpp"

namespace sluice::admin {

struct AdminStart {
  std::uint32_t slot = 0;           // in the shared tables
  std::uint64_t generation = 0;
  const conf::NodeConfig* node = nullptr;   // sluice.data_dir is where the store lies
  shm::Catalog* catalog = nullptr;
  std::vector<worker::ListenSocket> listeners;   // admin, control, status, metrics
  int bus_fd = -1;                  // the bus listener
  std::string bus_address;
  pid_t master_pid = 0;
  int workers = 0;                  // of this generation
  std::string admin_key;            // in effect: stands for every admin entry with an empty key
  bool admin_key_from_environment = false;
  std::string config_dir;           // where apisix.yaml, debug.yaml lie
  std::string config_file;          // the node file, for PUT /plugins/reload; empty: built-in defaults
};

// Serves until told to stop; returns the exit code.
// REQUIRES: called in the forked child, rights already dropped, log open. TERM, QUIT and USR1 are blocked on entry
// (none is lost before their handlers stand); this unblocks them.
int run_admin(const AdminStart& start) noexcept;

}  // namespace sluice::admin
