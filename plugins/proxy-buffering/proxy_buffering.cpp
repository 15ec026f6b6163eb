#include "plugins/proxy-buffering/proxy_buffering.hpp"

namespace sluice::plugins::proxy_buffering {

const schema::Table<ProxyBuffering::Config>& ProxyBuffering::table() {
  static const auto kTable = schema::table<Config>().field(
      "disable_proxy_buffering", &Config::disable_proxy_buffering,
      schema::boolean().default_value(false).doc("accepted; answers are streamed in any case"));
  return kTable;
}

}  // namespace sluice::plugins::proxy_buffering
