#include "plugins/sdk/limits/bypass.hpp"

#include <algorithm>

namespace sluice::sdk {

const schema::Table<BypassConfig>& BypassConfig::table() {
  using namespace schema;
  static const auto kTable = schema::table<BypassConfig>()
                                 .field("cidrs", &BypassConfig::cidrs,
                                        array(string()).doc("client addresses and ranges that are not limited"))
                                 .field("consumers", &BypassConfig::consumers,
                                        array(string()).doc("consumers that are not limited"));
  return kTable;
}

Result<Bypass> Bypass::compile(std::optional<BypassConfig> config) {
  Bypass made;
  if (!config) return made;
  auto set = CidrSet::parse(config->cidrs);
  if (!set) return set.error();
  made.cidrs_ = std::move(*set);
  made.consumers_ = std::move(config->consumers);
  made.any_ = !made.cidrs_.empty() || !made.consumers_.empty();
  return made;
}

bool Bypass::covers_slow(const RequestContext& ctx) const noexcept {
  if (cidrs_.contains(ctx.client_address)) return true;
  return ctx.consumer && std::find(consumers_.begin(), consumers_.end(), ctx.consumer->name) != consumers_.end();
}

}  // namespace sluice::sdk
