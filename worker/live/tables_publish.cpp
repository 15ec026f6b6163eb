// Putting objects in force and taking them out, and what that means for others.
#include <algorithm>

#include "conf/base/log.hpp"
#include "conf/base/text.hpp"
#include "worker/live/tables_impl.hpp"

namespace sluice::live {
namespace {

std::unique_ptr<Record> make_record(conf::Kind kind) {
  switch (kind) {
    case conf::Kind::route: return std::make_unique<RouteRecord>();
    case conf::Kind::service: return std::make_unique<ServiceRecord>();
    case conf::Kind::upstream: return std::make_unique<UpstreamRecord>();
    case conf::Kind::plugin_config:
    case conf::Kind::global_rule: return std::make_unique<PluginSetRecord>();
    case conf::Kind::consumer_group: return std::make_unique<GroupRecord>();
    case conf::Kind::consumer: return std::make_unique<ConsumerRecord>();
    case conf::Kind::credential: return std::make_unique<CredentialRecord>();
    case conf::Kind::plugin_metadata: return std::make_unique<MetadataRecord>();
    default: return std::make_unique<StoredRecord>();
  }
}

bool same_hosts(const sdk::Ref<const router::HostList>& a, const sdk::Ref<const router::HostList>& b) {
  return a == b || (a && b && a->patterns == b->patterns);
}

// Ids as people order them: numbers by value, before texts.
bool id_before(const Record* a, const Record* b) {
  const auto x = text::to_int<std::uint64_t>(a->id), y = text::to_int<std::uint64_t>(b->id);
  if (x && y && *x != *y) return *x < *y;
  if (x.has_value() != y.has_value()) return x.has_value();
  return a->id < b->id;
}

}  // namespace

Record* Tables::Impl::find(conf::Kind kind, std::string_view id) const noexcept {
  const RecordSet& set = set_of(kind);
  const auto hit = set.find(id);
  return hit == set.end() ? nullptr : hit->get();
}

Record& Tables::Impl::get_or_make(conf::Kind kind, std::string_view id) {
  if (Record* record = find(kind, id)) return *record;
  auto made = make_record(kind);
  made->id = id;
  return **set_of(kind).insert(std::move(made)).first;
}

template <class T>
T* Tables::Impl::use(conf::Kind kind, const std::string& id) {
  if (id.empty()) return nullptr;
  Record& record = get_or_make(kind, id);
  ++record.users;
  return static_cast<T*>(&record);
}

void Tables::Impl::release(conf::Kind kind, Record* record) {
  if (record == nullptr) return;
  if (record->users > 0) --record->users;
  if (record->present || record->users > 0) return;
  if (const auto at = set_of(kind).find(std::string_view(record->id)); at != set_of(kind).end()) set_of(kind).erase(at);
}

void Tables::Impl::set_plugin_names(Record& record, std::vector<std::string> names) {
  if (record.plugin_names == names) return;
  for (const std::string& name : record.plugin_names)
    if (const auto hit = plugin_users.find(name); hit != plugin_users.end()) {
      hit->second.erase(&record);
      if (hit->second.empty()) plugin_users.erase(hit);
    }
  for (const std::string& name : names) plugin_users[name].insert(&record);
  record.plugin_names = std::move(names);
}

void Tables::Impl::put(const Change& change, std::string json, std::vector<std::string> plugin_names, Compiled data,
                       std::vector<ObjectError>& errors) {
  Record& record = get_or_make(change.kind, change.id);
  record.created = change.created;
  record.modified = change.modified;
  record.json = std::move(json);
  record.mark = batch;
  if (!record.present) ++present[static_cast<std::size_t>(change.kind)];
  record.present = true;
  set_plugin_names(record, std::move(plugin_names));

  std::vector<std::string> taken;
  switch (change.kind) {
    case conf::Kind::route: put_route(static_cast<RouteRecord&>(record), std::get<RouteData>(std::move(data))); break;
    case conf::Kind::service:
      put_service(static_cast<ServiceRecord&>(record), std::get<ServiceData>(std::move(data)));
      break;
    case conf::Kind::upstream:
      put_upstream(static_cast<UpstreamRecord&>(record), std::get<sdk::Ref<Upstream>>(std::move(data)));
      break;
    case conf::Kind::global_rule: globals_changed = true; [[fallthrough]];
    case conf::Kind::plugin_config: {
      auto& set = static_cast<PluginSetRecord&>(record);
      set.set = std::get<PluginData>(std::move(data));
      set.version = ++clock;
      break;
    }
    case conf::Kind::consumer_group:
      put_group(static_cast<GroupRecord&>(record), std::get<PluginData>(std::move(data)));
      break;
    case conf::Kind::consumer:
      put_consumer(static_cast<ConsumerRecord&>(record), std::get<ConsumerData>(std::move(data)), taken);
      break;
    case conf::Kind::credential:
      put_credential(static_cast<CredentialRecord&>(record), std::get<CredentialData>(std::move(data)), taken);
      break;
    case conf::Kind::plugin_metadata:
      static_cast<MetadataRecord&>(record).doc = std::get<std::shared_ptr<const JsonDoc>>(std::move(data));
      break;
    default: break;
  }
  for (std::string& message : taken) errors.push_back({change.kind, change.id, std::move(message)});
}

// ---- routes

void Tables::Impl::show_route(RouteRecord& record) {
  if (!record.data.enabled || record.in_router) return;
  matcher.insert(*record.data.matching);
  record.in_router = true;
  if (record.data.needs_body) ++body_routes;
}

void Tables::Impl::hide_route(RouteRecord& record) {
  if (!record.in_router) return;
  matcher.erase(*record.data.matching);
  record.in_router = false;
  if (record.data.needs_body) --body_routes;
}

void Tables::Impl::link_route(RouteRecord& record) {
  RouteData& data = record.data;
  record.plugin_config = use<PluginSetRecord>(conf::Kind::plugin_config, data.plugin_config_id);
  record.upstream = use<UpstreamRecord>(conf::Kind::upstream, data.upstream_id);
  record.service = use<ServiceRecord>(conf::Kind::service, data.service_id);
  if (data.inline_upstream) names.add(*data.inline_upstream, owner->on_name);
  if (record.service == nullptr) return;
  record.next = record.service->dependants;
  if (record.next) record.next->previous = &record;
  record.service->dependants = &record;
  if (!data.own_hosts) data.matching->hosts = record.service->data.hosts;
}

void Tables::Impl::unlink_route(RouteRecord& record) {
  record.compiled.reset();
  if (record.data.inline_upstream) names.remove(*record.data.inline_upstream, owner->on_name);
  if (record.service != nullptr) {
    if (record.previous) record.previous->next = record.next;
    else record.service->dependants = record.next;
    if (record.next) record.next->previous = record.previous;
    record.next = record.previous = nullptr;
  }
  release(conf::Kind::service, std::exchange(record.service, nullptr));
  release(conf::Kind::upstream, std::exchange(record.upstream, nullptr));
  release(conf::Kind::plugin_config, std::exchange(record.plugin_config, nullptr));
}

void Tables::Impl::put_route(RouteRecord& record, RouteData data) {
  hide_route(record);
  unlink_route(record);
  record.data = std::move(data);
  record.data.matching->owner = &record;
  link_route(record);
  show_route(record);
}

// ---- services

// Routes without hosts of their own move to the trees of the service's hosts.
void Tables::Impl::inherit_hosts(ServiceRecord& record) {
  for (RouteRecord* route = record.dependants; route != nullptr; route = route->next) {
    if (route->data.own_hosts) continue;
    hide_route(*route);
    route->data.matching->hosts = record.data.hosts;
    route->compiled.reset();
    show_route(*route);
  }
}

void Tables::Impl::unlink_service(ServiceRecord& record) {
  if (record.data.inline_upstream) names.remove(*record.data.inline_upstream, owner->on_name);
  release(conf::Kind::upstream, std::exchange(record.upstream, nullptr));
  record.chain.reset();
}

void Tables::Impl::put_service(ServiceRecord& record, ServiceData data) {
  unlink_service(record);
  const bool hosts_change = !same_hosts(record.data.hosts, data.hosts);
  if (!hosts_change) data.hosts = record.data.hosts;
  record.data = std::move(data);
  record.upstream = use<UpstreamRecord>(conf::Kind::upstream, record.data.upstream_id);
  if (record.data.inline_upstream) names.add(*record.data.inline_upstream, owner->on_name);
  record.version = ++clock;
  if (hosts_change) inherit_hosts(record);
}

// ---- upstreams, groups, consumers

void Tables::Impl::put_upstream(UpstreamRecord& record, sdk::Ref<Upstream> upstream) {
  if (upstream) names.add(*upstream, owner->on_name);
  if (record.upstream) names.remove(*record.upstream, owner->on_name);
  record.upstream = upstream;
  record.cell->current = upstream;
}

void Tables::Impl::put_group(GroupRecord& record, PluginData set) {
  record.set = std::move(set);
  for (ConsumerRecord* consumer : record.dependants) consumers.enter(*consumer);
}

void Tables::Impl::put_consumer(ConsumerRecord& record, ConsumerData data, std::vector<std::string>& taken) {
  consumers.remove(record);
  if (record.group) record.group->dependants.erase(&record);
  GroupRecord* const group = use<GroupRecord>(conf::Kind::consumer_group, data.group_id);
  release(conf::Kind::consumer_group, std::exchange(record.group, group));
  record.data = std::move(data);
  if (group) group->dependants.insert(&record);
  taken = consumers.enter(record);
}

void Tables::Impl::clear_owner(CredentialRecord& record) {
  consumers.remove_credential(record);
  if (record.owner == nullptr) return;
  record.owner->credentials.erase(&record);
  release(conf::Kind::consumer, std::exchange(record.owner, nullptr));
}

void Tables::Impl::put_credential(CredentialRecord& record, CredentialData data, std::vector<std::string>& taken) {
  ConsumerRecord* const consumer = use<ConsumerRecord>(conf::Kind::consumer, data.owner);
  clear_owner(record);
  record.data = std::move(data);
  record.owner = consumer;
  consumer->credentials.insert(&record);
  taken = consumers.enter(*consumer);
}

// ---- out

void Tables::Impl::take_out(conf::Kind kind, Record& record) {
  if (!record.present) return;
  record.present = false;
  --present[static_cast<std::size_t>(kind)];
  record.json = {};
  set_plugin_names(record, {});
  switch (kind) {
    case conf::Kind::route:
      hide_route(static_cast<RouteRecord&>(record));
      unlink_route(static_cast<RouteRecord&>(record));
      break;
    case conf::Kind::service: {
      auto& service = static_cast<ServiceRecord&>(record);
      unlink_service(service);
      const bool had_hosts = static_cast<bool>(service.data.hosts);
      service.data = {};
      service.version = ++clock;
      if (had_hosts) inherit_hosts(service);
      break;
    }
    case conf::Kind::upstream: put_upstream(static_cast<UpstreamRecord&>(record), {}); break;
    case conf::Kind::global_rule: globals_changed = true; [[fallthrough]];
    case conf::Kind::plugin_config: {
      auto& set = static_cast<PluginSetRecord&>(record);
      set.set = {};
      set.version = ++clock;
      break;
    }
    case conf::Kind::consumer_group: put_group(static_cast<GroupRecord&>(record), {}); break;
    case conf::Kind::consumer: {
      auto& consumer = static_cast<ConsumerRecord&>(record);
      consumers.remove(consumer);
      if (consumer.group) consumer.group->dependants.erase(&consumer);
      release(conf::Kind::consumer_group, std::exchange(consumer.group, nullptr));
      consumer.data = {};
      break;
    }
    case conf::Kind::credential: clear_owner(static_cast<CredentialRecord&>(record)); break;
    default: break;
  }
  if (record.users == 0) set_of(kind).erase(set_of(kind).find(std::string_view(record.id)));
}

void Tables::Impl::sweep(std::uint64_t newest) {
  for (std::size_t k = 0; k < conf::kKindCount; ++k) {
    const auto kind = static_cast<conf::Kind>(k);
    std::vector<Record*> gone;
    for (const auto& record : set_of(kind))
      if (record->present && record->mark != newest) gone.push_back(record.get());
    for (Record* record : gone) take_out(kind, *record);
  }
}

// Each plugin once, from the rule with the lowest id that has it enabled.
void Tables::Impl::rebuild_globals() {
  globals_changed = false;
  std::vector<const Record*> rules;
  for (const auto& record : set_of(conf::Kind::global_rule))
    if (record->present) rules.push_back(record.get());
  std::sort(rules.begin(), rules.end(), id_before);
  Instances members;
  std::vector<const Record*> origin;
  for (const Record* rule : rules)
    for (const auto& instance : static_cast<const PluginSetRecord*>(rule)->set.plugins) {
      if (instance->meta.disable) continue;
      const auto same = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m->type == instance->type; });
      if (same == members.end()) {
        members.push_back(instance);
        origin.push_back(rule);
        continue;
      }
      log::warn("plugin " + std::string(instance->type->traits.name) + " is in the global rules " +
                origin[static_cast<std::size_t>(same - members.begin())]->id + " and " + rule->id + ": it runs once, from " +
                origin[static_cast<std::size_t>(same - members.begin())]->id);
    }
  auto shared = sdk::make_ref<SharedChain>();
  shared->chain = sdk::OwnedChain(std::move(members));
  globals = shared;
}

}  // namespace sluice::live
