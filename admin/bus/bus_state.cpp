// See bus_state.hpp.
#include "admin/bus/bus_state.hpp"

#include <algorithm>

#include "admin/bus/upstream_names.hpp"

namespace sluice::admin {

namespace bus = live::bus;

namespace {

// What is referred to comes before what refers to it, so that a worker compiles each object once.
int rank_of(conf::Kind kind) noexcept {
  switch (kind) {
    case conf::Kind::plugins: return 0;
    case conf::Kind::plugin_metadata:
    case conf::Kind::secret:
    case conf::Kind::proto: return 1;
    case conf::Kind::upstream: return 2;
    case conf::Kind::plugin_config:
    case conf::Kind::consumer_group: return 3;
    case conf::Kind::service: return 4;
    case conf::Kind::consumer: return 5;
    case conf::Kind::credential: return 6;
    case conf::Kind::global_rule: return 7;
    default: return 8;
  }
}

// Cuts encoded changes into parts of about kPartBytes each; fn(views, is_last). No changes: one empty, last part.
template <class F>
void in_parts(const std::vector<Octets>& changes, F&& fn) {
  std::vector<std::string_view> views;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!views.empty() && bytes + changes[i]->size() > bus::kPartBytes) {
      fn(views, false);
      views.clear();
      bytes = 0;
    }
    views.push_back(*changes[i]);
    bytes += changes[i]->size();
  }
  fn(views, true);
}

}  // namespace

void BusState::use(const std::vector<std::string>& names, int by, NameEdits& edits) {
  for (const std::string& name : names) {
    int& uses = name_uses_[name];
    uses += by;
    if (by > 0 && uses == 1) edits.wanted.push_back(name);
    if (uses == 0) {
      name_uses_.erase(name);
      edits.unwanted.push_back(name);
    }
  }
}

Octets BusState::apply(const live::Change& change, NameEdits& names) {
  auto encoded = std::make_shared<const std::string>(bus::encode_change(change));
  Key key(static_cast<std::uint8_t>(change.kind), change.id);
  if (change.removed) {
    if (auto it = objects_.find(key); it != objects_.end()) {
      use(it->second.names, -1, names);
      objects_.erase(it);
    }
    return encoded;
  }
  Object& object = objects_[std::move(key)];
  std::vector<std::string> mentioned = upstream_names(change.json);
  use(mentioned, +1, names);  // before the old ones go: a name that stays is never dropped
  use(object.names, -1, names);
  object = Object{encoded, std::move(mentioned)};
  return encoded;
}

BusState::NameEdits BusState::load(std::uint64_t revision, const std::vector<live::Change>& everything) {
  NameEdits names;
  objects_.clear();
  name_uses_.clear();
  for (const live::Change& change : everything)
    if (!change.removed) apply(change, names);
  revision_ = revision;
  return names;
}

const BusState::Batch& BusState::append(std::uint64_t revision, const std::vector<live::Change>& changes, TimePoint now,
                                        NameEdits& names) {
  std::vector<Octets> encoded;
  encoded.reserve(changes.size());
  for (const live::Change& change : changes) encoded.push_back(apply(change, names));
  ++position_.sequence;
  revision_ = revision;
  Batch batch{position_, now, {}, 0};
  in_parts(encoded, [&](const std::vector<std::string_view>& views, bool last) {
    batch.frames.push_back(
        std::make_shared<const std::string>(bus::encode_batch_part(position_, revision, last, views)));
    batch.bytes += batch.frames.back()->size();
  });
  ring_bytes_ += batch.bytes;
  ring_.push_back(std::move(batch));
  trim();
  return ring_.back();
}

// The newest batch always stays: it has just been handed out.
void BusState::trim() {
  while (ring_.size() > 1 && (ring_.size() > limits_.ring_batches || ring_bytes_ > limits_.ring_bytes)) {
    ring_bytes_ -= ring_.front().bytes;
    ring_.pop_front();
  }
}

std::vector<live::Change> BusState::difference(const std::vector<live::Change>& everything) const {
  std::vector<live::Change> changes;
  std::map<Key, const live::Change*> next;
  for (const live::Change& change : everything)
    if (!change.removed) next[Key(static_cast<std::uint8_t>(change.kind), change.id)] = &change;
  for (const auto& [key, change] : next) {
    const auto it = objects_.find(key);
    if (it == objects_.end() || !bus::same_value(*it->second.encoded, bus::encode_change(*change)))
      changes.push_back(*change);
  }
  for (const auto& [key, object] : objects_) {
    // The list of plugins has a source of its own, the node file: a document that says nothing of it leaves it alone.
    if (next.contains(key) || key.first == static_cast<std::uint8_t>(conf::Kind::plugins)) continue;
    live::Change gone;
    gone.kind = static_cast<conf::Kind>(key.first);
    gone.id = key.second;
    gone.removed = true;
    changes.push_back(std::move(gone));
  }
  return changes;
}

std::vector<Octets> BusState::snapshot() const {
  std::vector<std::pair<int, const Object*>> ordered;
  ordered.reserve(objects_.size());
  for (const auto& [key, object] : objects_) ordered.emplace_back(rank_of(static_cast<conf::Kind>(key.first)), &object);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Octets> all;
  all.reserve(ordered.size());
  for (const auto& [rank, object] : ordered) all.push_back(object->encoded);
  return all;
}

bool BusState::missed(const bus::Position& last, std::vector<const Batch*>& batches) const {
  if (last.epoch != position_.epoch || last.sequence > position_.sequence || last.sequence == 0) return false;
  if (last.sequence == position_.sequence) return true;
  if (ring_.empty() || ring_.front().at.sequence > last.sequence + 1) return false;
  for (const Batch& batch : ring_)
    if (batch.at.sequence > last.sequence) batches.push_back(&batch);
  return true;
}

const BusState::Batch* BusState::batch(std::uint64_t sequence) const noexcept {
  if (ring_.empty() || sequence < ring_.front().at.sequence) return nullptr;
  const std::uint64_t at = sequence - ring_.front().at.sequence;
  return at < ring_.size() ? &ring_[at] : nullptr;
}

}  // namespace sluice::admin
