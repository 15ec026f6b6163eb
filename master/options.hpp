// The command line.
#pragma once

#include <string>
#include <vector>

#include "conf/base/result.hpp"

namespace sluice::master {

struct Options {
  enum class Action { run, check, signal, version, build_info, help };
  Action action = Action::run;
  std::string config_file;          // -c; empty: PREFIX/conf/config.yaml where it exists, else built-in defaults
  std::string prefix;               // -p; empty: by user (see paths.hpp)
  bool prefix_given = false;
  std::string signal_name;          // stop quit reload reopen upgrade
};

Result<Options> parse_options(int argc, const char* const* argv);
const char* usage() noexcept;

}  // namespace sluice::master
