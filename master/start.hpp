// From the command line to a running supervisor, and the actions that end at once (-t, -s).
#pragma once

#include "master/options.hpp"

namespace sluice::master {

int run_gateway(const Options& options);    // blocks until the gateway has stopped
int check_config(const Options& options);   // -t
int send_signal(const Options& options);    // -s

}  // namespace sluice::master
