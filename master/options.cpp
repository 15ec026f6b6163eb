#include "master/options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::master {

const char* usage() noexcept {
  return "usage: sluice [-c FILE] [-p PREFIX]                       run in the foreground\n"
         "       sluice -t [-c FILE] [-p PREFIX]                    check the node file (and a resource file)\n"
         "       sluice -s stop|quit|reload|reopen|upgrade [-p PREFIX] [-c FILE]\n"
         "       sluice -v | -V | -h\n"
         "PREFIX holds logs/ run/ data/; default: /var/lib/sluice as root, ./run otherwise.\n"
         "ADMIN_KEY in the environment sets the Admin API key.\n";
}

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  const auto value = [&](int& i, std::string& out) -> bool {
    if (i + 1 >= argc) return false;
    out = argv[++i];
    return true;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "-c") {
      if (!value(i, options.config_file)) return invalid("expected a file name after -c");
    } else if (word == "-p") {
      if (!value(i, options.prefix) || options.prefix.empty()) return invalid("expected a folder after -p");
      options.prefix_given = true;
    } else if (word == "-s") {
      options.action = Options::Action::signal;
      static constexpr std::array<std::string_view, 5> kSignals{"stop", "quit", "reload", "reopen", "upgrade"};
      if (!value(i, options.signal_name) ||
          std::find(kSignals.begin(), kSignals.end(), options.signal_name) == kSignals.end())
        return invalid("expected stop, quit, reload, reopen or upgrade after -s, found '" + options.signal_name + "'");
    } else if (word == "-t") {
      options.action = Options::Action::check;
    } else if (word == "-v") {
      options.action = Options::Action::version;
    } else if (word == "-V") {
      options.action = Options::Action::build_info;
    } else if (word == "-h" || word == "--help") {
      options.action = Options::Action::help;
    } else {
      return invalid("unknown word '" + std::string(word) + "' on the command line");
    }
  }
  return options;
}

}  // namespace sluice::master
