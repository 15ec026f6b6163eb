#include "worker/live/route_compiler.hpp"

#include <algorithm>

namespace sluice::live {
namespace {

const sdk::Ref<const SharedChain>& empty_chain() {
  static const auto& chain = *new sdk::Ref<const SharedChain>(new SharedChain);
  return chain;
}

sdk::Ref<const SharedChain> make_chain(Instances members) {
  if (members.empty()) return empty_chain();
  auto shared = sdk::make_ref<SharedChain>();
  shared->chain = sdk::OwnedChain(std::move(members));
  return shared;
}

// What `higher` does not have already.
void add_missing(Instances& higher, const Instances& lower) {
  const std::size_t before = higher.size();
  for (const auto& candidate : lower)
    if (std::none_of(higher.begin(), higher.begin() + static_cast<std::ptrdiff_t>(before),
                     [&](const auto& h) { return h->type == candidate->type; }))
      higher.push_back(candidate);
}

void refuse(CompiledRoute& out, std::uint16_t status, std::string reason) {
  out.refuse_status = status;
  out.refuse_reason = "route " + out.id + ": " + std::move(reason);
}

}  // namespace

sdk::Ref<const SharedChain> RouteCompiler::chain_of(const RouteRecord& record) {
  if (record.plugin_config == nullptr && record.data.set.plugins.empty()) {
    if (record.service == nullptr) return empty_chain();
    if (!record.service->chain) record.service->chain = make_chain(record.service->data.set.plugins);
    return record.service->chain;
  }
  Instances members = record.data.set.plugins;
  if (record.plugin_config) add_missing(members, record.plugin_config->set.plugins);
  if (record.service) add_missing(members, record.service->data.set.plugins);
  return make_chain(std::move(members));
}

void RouteCompiler::set_upstream(const RouteRecord& record, CompiledRoute& out) {
  const ServiceRecord* service = record.service;
  if (record.upstream)
    out.cell_ = record.upstream->cell;
  else if (record.data.inline_upstream)
    out.inline_ = record.data.inline_upstream;
  else if (service && service->upstream)
    out.cell_ = service->upstream->cell;
  else if (service && service->data.inline_upstream)
    out.inline_ = service->data.inline_upstream;
}

sdk::Ref<const CompiledRoute> RouteCompiler::make(RouteRecord& record, const Timeouts& default_timeouts) {
  auto out = sdk::make_ref<CompiledRoute>();
  const RouteData& data = record.data;
  const ServiceRecord* service = record.service;
  out->id = record.id;
  out->resource_key = "/apisix/routes/" + record.id;
  out->name = data.name;
  out->labels = data.labels;
  out->matching_ = data.matching;
  out->hosts_ = data.matching->hosts;
  out->route_timeouts_ = data.timeouts;
  out->default_timeouts_ = default_timeouts;
  out->chain_ = empty_chain();
  record.service_version = service ? service->version : 0;
  record.plugin_config_version = record.plugin_config ? record.plugin_config->version : 0;

  if (!data.set.error.empty())
    refuse(*out, 503, data.set.error);
  else if (record.plugin_config && !record.plugin_config->present)
    refuse(*out, 503, "plugin config " + data.plugin_config_id + " does not exist");
  else if (record.plugin_config && !record.plugin_config->set.error.empty())
    refuse(*out, 503, "plugin config " + data.plugin_config_id + ": " + record.plugin_config->set.error);
  else if (service && !service->present)
    refuse(*out, 404, "service " + data.service_id + " does not exist");
  else if (service && !service->data.set.error.empty())
    refuse(*out, 503, "service " + data.service_id + ": " + service->data.set.error);
  if (out->refuse_status != 0) return out;

  out->service_id = data.service_id;
  if (service) {
    out->service_name = service->data.name;
    if (out->labels.empty()) out->labels = service->data.labels;
  }
  out->enable_websocket = data.enable_websocket.value_or(service ? service->data.enable_websocket.value_or(false) : false);
  out->chain_ = chain_of(record);
  set_upstream(record, *out);
  return out;
}

}  // namespace sluice::live
