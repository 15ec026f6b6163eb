#include "worker/live/tables.hpp"

#include "conf/node_config.hpp"
#include "worker/live/route_compiler.hpp"
#include "worker/live/tables_impl.hpp"

namespace sluice::live {

TablesOptions tables_options(const conf::NodeConfig& node) {
  TablesOptions options;
  switch (node.apisix.router) {
    case conf::RouterChoice::host_uri: options.router = router::RouterKind::host_uri; break;
    case conf::RouterChoice::uri: options.router = router::RouterKind::uri; break;
    case conf::RouterChoice::uri_with_parameter: options.router = router::RouterKind::uri_with_parameter; break;
  }
  options.refuse_disabled_plugins = node.file_provider();
  options.keepalive = {static_cast<std::uint32_t>(node.nginx.upstream_keepalive), node.nginx.upstream_keepalive_timeout,
                       static_cast<std::uint32_t>(node.nginx.upstream_keepalive_requests)};
  options.ipv6 = node.apisix.ipv6;
  return options;
}

Tables::Impl::Impl(const TablesOptions& o, const sdk::PluginHost& h, const sdk::EnabledPlugins& e)
    : options(o), host(h), configured(e), enabled(e), matcher(o.router), globals(new SharedChain) {
  host.metadata = [this](std::string_view plugin) { return metadata(plugin); };
  upstreams.catalog = h.catalog;
  upstreams.worker_slot = h.worker_slot;
  upstreams.timeouts = o.timeouts;
  upstreams.keepalive = o.keepalive;
  upstreams.ipv6 = o.ipv6;
}

const Json* Tables::Impl::metadata(std::string_view plugin) const noexcept {
  if (overlay != nullptr)
    if (const auto hit = overlay->find(plugin); hit != overlay->end()) return hit->second.get();
  const Record* record = find(conf::Kind::plugin_metadata, plugin);
  return record && record->present ? static_cast<const MetadataRecord*>(record)->doc.get() : nullptr;
}

Tables::Tables(const TablesOptions& options, const sdk::PluginHost& host, const sdk::EnabledPlugins& enabled)
    : impl_(std::make_unique<Impl>(options, host, enabled)) {
  impl_->owner = this;
}

Tables::~Tables() = default;

std::vector<ObjectError> Tables::apply(std::span<const Change> batch) {
  if (impl_->collecting) {
    impl_->collected.insert(impl_->collected.end(), batch.begin(), batch.end());
    return {};
  }
  Stager stager(*this, {batch.begin(), batch.end()});
  while (!stager.step(TimePoint::max())) {
  }
  return stager.publish();
}

void Tables::begin_snapshot() {
  impl_->collected.clear();
  impl_->collecting = true;
}

std::vector<ObjectError> Tables::end_snapshot() {
  impl_->collecting = false;
  Stager stager(*this, std::exchange(impl_->collected, {}), Stager::Mode::snapshot);
  while (!stager.step(TimePoint::max())) {
  }
  return stager.publish();
}

void Tables::drop_snapshot() {
  impl_->collecting = false;
  impl_->collected = {};
}

void Tables::set_addresses(std::string_view name, std::span<const IpAddress> addresses) {
  impl_->names.set(name, addresses);
}

std::vector<std::string> Tables::names_in_use() const { return impl_->names.names(); }

Match Tables::match(sdk::RequestContext& ctx, std::string_view match_path) const noexcept {
  router::Hit hit;
  if (!impl_->matcher.find(ctx, match_path.data() != nullptr ? match_path : ctx.path, hit)) return {};
  auto& record = *static_cast<RouteRecord*>(hit.route->owner);
  if (record.stale()) record.compiled = RouteCompiler::make(record, impl_->options.timeouts);
  const CompiledRoute& route = *record.compiled;

  ctx.route_matched = true;
  ctx.route_id = route.id;
  ctx.route_name = route.name;
  ctx.service_id = route.service_id;
  ctx.service_name = route.service_name;
  ctx.matched_uri = hit.candidate->pattern.text();
  ctx.matched_host = hit.host;
  if (const std::size_t n = hit.candidate->pattern.captures(); n > 0) {
    const auto params = ctx.arena.array<sdk::NamedText>(n);
    for (std::size_t i = 0; i < n; ++i) params[i] = {hit.candidate->pattern.name(i), hit.values[i]};
    ctx.uri_params = params;
  }
  return {record.compiled};
}

bool Tables::routing_needs_body() const noexcept { return impl_->body_routes > 0; }

const sdk::Ref<const SharedChain>& Tables::global_rules() const noexcept { return impl_->globals; }

const sdk::ConsumerIndex& Tables::consumers() const noexcept { return impl_->consumers; }

sdk::Ref<const Upstream> Tables::upstream(std::string_view id) const noexcept {
  const Record* record = impl_->find(conf::Kind::upstream, id);
  return record ? static_cast<const UpstreamRecord*>(record)->cell->current : sdk::Ref<const Upstream>();
}

void Tables::for_each(conf::Kind kind, const std::function<void(const ObjectView&)>& visit) const {
  for (const auto& record : impl_->set_of(kind))
    if (record->present) visit({kind, record->id, record->json, record->created, record->modified});
}

std::size_t Tables::count(conf::Kind kind) const noexcept { return impl_->present[static_cast<std::size_t>(kind)]; }

void Tables::for_each_upstream(const std::function<void(const Upstream&)>& visit) const {
  for (const auto& record : impl_->set_of(conf::Kind::upstream))
    if (const auto& u = static_cast<const UpstreamRecord&>(*record).upstream) visit(*u);
  for (const auto& record : impl_->set_of(conf::Kind::service))
    if (const auto& u = static_cast<const ServiceRecord&>(*record).data.inline_upstream; u && record->present) visit(*u);
  for (const auto& record : impl_->set_of(conf::Kind::route))
    if (const auto& u = static_cast<const RouteRecord&>(*record).data.inline_upstream; u && record->present) visit(*u);
}

const Json* Tables::metadata(std::string_view plugin) const noexcept { return impl_->metadata(plugin); }

}  // namespace sluice::live
