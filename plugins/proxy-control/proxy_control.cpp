#include "plugins/proxy-control/proxy_control.hpp"

namespace sluice::plugins::proxy_control {

const schema::Table<ProxyControl::Config>& ProxyControl::table() {
  static const auto kTable = schema::table<Config>().field(
      "request_buffering", &Config::request_buffering,
      schema::boolean().default_value(true).doc("`true`: the body is gathered before the request goes upstream; `false`: it is streamed"));
  return kTable;
}

}  // namespace sluice::plugins::proxy_control
