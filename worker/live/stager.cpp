// Stager: one batch, compiled beside the tables in slices, then published in one step.
//
// First the plugin list and the metadata of the batch (plugins compile against them); then the changes one by one, and
// with them the objects in force whose plugins' metadata changes. What is equal to what is in force is only marked.
#include <algorithm>
#include <deque>

#include "conf/base/log.hpp"
#include "conf/model/resources.hpp"
#include "worker/live/tables_impl.hpp"

namespace sluice::live {
namespace {

std::vector<std::string> plugin_names_of(const Json& value) {
  std::vector<std::string> names;
  const Json* plugins = find(value, "plugins");
  if (plugins && plugins->IsObject())
    for (const auto& member : plugins->GetObject()) names.emplace_back(text_of(member.name));
  return names;
}

// Why the object refuses its users' requests although it could be read; empty when it is fine.
const std::string& error_of(const Compiled& data) {
  static const std::string kNone;
  if (const auto* route = std::get_if<RouteData>(&data)) return route->set.error;
  if (const auto* service = std::get_if<ServiceData>(&data)) return service->set.error;
  if (const auto* set = std::get_if<PluginData>(&data)) return set->error;
  return kNone;
}

template <class T>
Result<Compiled> wrap(Result<T> made) {
  if (!made) return made.error();
  return Compiled(std::move(*made));
}

}  // namespace

struct Stager::Impl {
  struct Item {
    Change* change;
    bool forced = false;                 // compile it even if it equals what is in force
    enum class State : std::uint8_t { waiting, unchanged, removed, ready, failed } state = State::waiting;
    Compiled data;
    std::vector<std::string> plugin_names;
  };

  Impl(Tables::Impl& t, std::vector<Change> b, Mode m) : tables(t), batch(std::move(b)), mode(m) {}

  void prepare();
  void drop_superseded();
  void stage_plugin_list(Item& item);
  void stage_metadata();
  void add_dependants(std::string_view plugin);
  void add_again(conf::Kind kind, Record& record);
  void stage(Item& item);
  Result<Compiled> compile(const Change& change, const Json& value) const;
  bool unchanged(const Item& item) const;
  void fail(Item& item, std::string message);
  void publish_one(Item& item);

  Tables::Impl& tables;
  std::vector<Change> batch;
  Mode mode;
  bool prepared = false;
  std::deque<Change> again;              // objects in force that have to be compiled anew
  std::deque<Item> items;
  std::unordered_map<const Record*, Item*> by_record;
  std::size_t next = 0;
  std::optional<sdk::EnabledPlugins> enabled;
  TextMap<std::shared_ptr<const JsonDoc>> metadata;
  std::vector<ObjectError> errors;
};

// Of several changes of one object the last counts.
void Stager::Impl::drop_superseded() {
  std::unordered_map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < batch.size(); ++i) last[conf::join_key(batch[i].kind, batch[i].id)] = i;
  std::size_t kept = 0;
  if (last.size() == batch.size()) return;
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (last[conf::join_key(batch[i].kind, batch[i].id)] == i) {
      if (kept != i) batch[kept] = std::move(batch[i]);
      ++kept;
    }
  batch.resize(kept);
}

void Stager::Impl::prepare() {
  prepared = true;
  drop_superseded();
  for (Change& change : batch) {
    items.push_back({&change});
    if (const Record* record = tables.find(change.kind, change.id)) by_record[record] = &items.back();
  }
  bool list_given = false;
  for (Item& item : items)
    if (item.change->kind == conf::Kind::plugins) {
      stage_plugin_list(item);
      list_given = true;
    }
  if (!list_given && mode == Mode::snapshot && tables.present[static_cast<std::size_t>(conf::Kind::plugins)] > 0)
    enabled = tables.configured;
  if (enabled)
    for (const auto& [plugin, users] : tables.plugin_users) add_dependants(plugin);
  stage_metadata();
}

void Stager::Impl::stage_plugin_list(Item& item) {
  if (item.change->removed) {
    item.state = Item::State::removed;
    enabled = tables.configured;
    return;
  }
  if (unchanged(item)) {
    item.state = Item::State::unchanged;
    return;
  }
  auto doc = parse_json(item.change->json);
  auto list = doc ? conf::parse_plugin_list(*doc) : Result<std::vector<conf::PluginListEntry>>(doc.error());
  if (!list) return fail(item, list.error().message());
  std::vector<std::string> names;
  for (const auto& entry : *list)
    if (!entry.stream) names.push_back(entry.name);
  enabled.emplace(names);
  item.state = Item::State::ready;
}

void Stager::Impl::stage_metadata() {
  for (Item& item : items) {
    if (item.change->kind != conf::Kind::plugin_metadata || item.state != Item::State::waiting) continue;
    if (item.change->removed) {
      item.state = Item::State::removed;
      metadata[item.change->id] = nullptr;
    } else if (unchanged(item)) {
      item.state = Item::State::unchanged;
    } else if (auto doc = parse_json(item.change->json); !doc) {
      fail(item, doc.error().message());
    } else {
      auto shared = std::make_shared<const JsonDoc>(std::move(*doc));
      metadata[item.change->id] = shared;
      item.data = std::move(shared);
      item.state = Item::State::ready;
    }
  }
  if (mode == Mode::snapshot)
    for (const auto& record : tables.set_of(conf::Kind::plugin_metadata))
      if (record->present && !by_record.contains(record.get())) metadata[record->id] = nullptr;
  for (const auto& [plugin, doc] : metadata) add_dependants(plugin);
}

void Stager::Impl::add_dependants(std::string_view plugin) {
  const auto users = tables.plugin_users.find(plugin);
  if (users == tables.plugin_users.end()) return;
  for (std::size_t k = 0; k < conf::kKindCount; ++k)
    for (Record* record : users->second)
      if (tables.find(static_cast<conf::Kind>(k), record->id) == record)
        add_again(static_cast<conf::Kind>(k), *record);
}

void Stager::Impl::add_again(conf::Kind kind, Record& record) {
  if (const auto hit = by_record.find(&record); hit != by_record.end()) {
    hit->second->forced = true;
    return;
  }
  if (mode == Mode::snapshot) return;    // it is about to be swept
  again.push_back({kind, record.id, false, record.json, record.created, record.modified});
  items.push_back({&again.back(), true});
  by_record[&record] = &items.back();
}

bool Stager::Impl::unchanged(const Item& item) const {
  const Change& change = *item.change;
  const Record* record = tables.find(change.kind, change.id);
  return !item.forced && record && record->present && record->modified == change.modified &&
         record->created == change.created && record->json == change.json;
}

Result<Compiled> Stager::Impl::compile(const Change& change, const Json& value) const {
  const CompileEnvironment env = tables.compile_environment(enabled ? *enabled : tables.enabled);
  switch (change.kind) {
    case conf::Kind::route: return wrap(compile_route(env, change, value));
    case conf::Kind::service: return wrap(compile_service(env, change, value));
    case conf::Kind::upstream: {
      auto made = compile_upstream(env, change, value);
      if (made) tables.names.fill(**made);
      return wrap(std::move(made));
    }
    case conf::Kind::plugin_config:
    case conf::Kind::consumer_group:
    case conf::Kind::global_rule: return wrap(compile_plugin_set(env, change, value));
    case conf::Kind::consumer: return wrap(compile_consumer(env, change, value));
    case conf::Kind::credential: return wrap(compile_credential(env, change, value));
    default: return Compiled();
  }
}

void Stager::Impl::fail(Item& item, std::string message) {
  item.state = Item::State::failed;
  errors.push_back({item.change->kind, item.change->id, std::move(message)});
}

void Stager::Impl::stage(Item& item) {
  if (item.state != Item::State::waiting) return;
  const Change& change = *item.change;
  if (change.removed) {
    item.state = Item::State::removed;
    return;
  }
  if (unchanged(item)) {
    item.state = Item::State::unchanged;
    return;
  }
  const auto doc = parse_json(change.json);
  if (!doc) return fail(item, doc.error().message());
  auto made = compile(change, *doc);
  if (!made) return fail(item, made.error().message());
  if (const std::string& why = error_of(*made); !why.empty()) {
    // The version in force stays, unless it is no better.
    const Record* record = tables.find(change.kind, change.id);
    fail(item, why);
    if (record && record->present && !item.forced) return;
  }
  item.plugin_names = plugin_names_of(*doc);
  item.data = std::move(*made);
  item.state = Item::State::ready;
}

void Stager::Impl::publish_one(Item& item) {
  const Change& change = *item.change;
  Record* record = tables.find(change.kind, change.id);
  switch (item.state) {
    case Item::State::unchanged:
    case Item::State::failed:
      if (record) record->mark = tables.batch;
      break;
    case Item::State::ready:
      tables.put(change, std::move(item.change->json), std::move(item.plugin_names), std::move(item.data), errors);
      break;
    default: break;
  }
}

Stager::Stager(Tables& tables, std::vector<Change> batch, Mode mode)
    : impl_(std::make_unique<Impl>(*tables.impl_, std::move(batch), mode)) {}

Stager::~Stager() = default;

bool Stager::step(TimePoint deadline) {
  Impl& s = *impl_;
  s.tables.overlay = &s.metadata;
  if (!s.prepared) s.prepare();
  bool first = true;
  while (s.next < s.items.size() && (first || monotonic_now() < deadline)) {
    s.stage(s.items[s.next++]);
    first = false;
  }
  s.tables.overlay = nullptr;
  return s.next == s.items.size();
}

std::vector<ObjectError> Stager::publish() {
  Impl& s = *impl_;
  Tables::Impl& t = s.tables;
  ++t.batch;
  if (s.enabled) t.enabled = *s.enabled;
  for (Impl::Item& item : s.items) s.publish_one(item);
  for (const Impl::Item& item : s.items)
    if (item.state == Impl::Item::State::removed)
      if (Record* record = t.find(item.change->kind, item.change->id)) t.take_out(item.change->kind, *record);
  if (s.mode == Mode::snapshot) t.sweep(t.batch);
  if (t.globals_changed) t.rebuild_globals();
  return std::move(s.errors);
}

}  // namespace sluice::live
