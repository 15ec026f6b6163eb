// Where a gateway keeps its things: PREFIX/{logs,run,data}, and how children reach them after they gave up root.
//
// Folders are opened while the rights are there; children use them through /proc/self/fd/N. A clone below a home that
// is closed to others therefore works: only the folder itself must be theirs, not the way to it.
#pragma once

#include <string>

#include "conf/base/result.hpp"
#include "master/privileges.hpp"

namespace sluice::master {

struct Paths {
  std::string prefix;        // absolute
  std::string logs, run, data;          // as the master and people name them
  std::string child_logs, child_data, child_run, child_config;   // as unprivileged children reach them
  std::string config_file;   // absolute; empty: built-in defaults
  std::string config_dir;    // where apisix.yaml and debug.yaml are looked for

  std::string pid_file() const { return run + "/sluice.pid"; }
  // A path of the node file, for a child: absolute stays, `logs/x` goes into the logs folder, else below PREFIX.
  std::string for_child(const std::string& path) const;
};

// prefix/config as given on the command line (empty: defaults).
Result<Paths> choose_paths(const std::string& prefix, const std::string& config_file);
// data_dir and run_dir of the node file, when given, override the folders below PREFIX. Makes the folders, gives them
// to the account, opens them for the children.
Result<void> prepare_paths(Paths& paths, const std::string& data_dir, const std::string& run_dir,
                           const Account& account);

}  // namespace sluice::master
