// The program `sluice`: reads the command line and hands over to the master, or to an action that ends at once.
#include <cstdio>
#include <exception>

#include "master/options.hpp"
#include "master/start.hpp"
#include "master/title.hpp"

int main(int argc, char** argv) {
  using namespace sluice::master;
  const auto options = parse_options(argc, argv);
  if (!options) {
    std::fprintf(stderr, "sluice: %s\n%s", options.error().message().c_str(), usage());
    return 2;
  }
  prepare_title(argc, argv);
  try {
    switch (options->action) {
      case Options::Action::help:
        std::fputs(usage(), stdout);
        return 0;
      case Options::Action::version:
        std::puts("sluice " SLUICE_VERSION);
        return 0;
      case Options::Action::build_info:
        std::puts("sluice " SLUICE_VERSION "\ncompiler: g++ " __VERSION__);
        return 0;
      case Options::Action::check:
        return check_config(*options);
      case Options::Action::signal:
        return send_signal(*options);
      default:
        return run_gateway(*options);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sluice: %s\n", e.what());
    return 1;
  }
}
