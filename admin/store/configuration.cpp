#include "admin/store/configuration.hpp"

#include "conf/base/log.hpp"

namespace sluice::admin {

live::Change change_of(const std::string& key, const Object* object) {
  live::Change change;
  if (auto split = conf::split_key(key)) {
    change.kind = split->kind;
    change.id = std::move(split->id);
  }
  if (object == nullptr) {
    change.removed = true;
    return change;
  }
  change.json = to_json(object->plain.value());
  change.created = object->created;
  change.modified = object->modified;
  return change;
}

Result<void> Configuration::open() {
  auto snapshot = store_.open();
  if (!snapshot) return snapshot.error();
  epoch_ = snapshot->epoch;
  revision_ = snapshot->revision;
  for (Record& record : snapshot->records) {
    const auto split = conf::split_key(record.key);
    auto parsed = parse_json(record.json);
    if (!split || !parsed || !parsed->IsObject()) {
      log::error("store: the object " + record.key + " cannot be read and is left out" +
                 (parsed ? std::string() : ": " + parsed.error().reason));
      unread_[record.key] = std::move(record);
      continue;
    }
    auto object = std::make_shared<Object>();
    object->key = record.key;
    object->plain = JsonBox(*parsed);
    sealer_.unseal(split->kind, split->id, object->plain.value(), object->plain.alloc());
    object->created = record.created;
    object->modified = record.modified;
    object->expires_ms = record.expires_ms;
    if (record.expires_ms != 0) expiries_.emplace(record.expires_ms, record.key);
    image_.load(std::move(object));
  }
  return {};
}

void Configuration::write(std::vector<Edit> edits, OnWritten done) {
  const std::uint64_t revision = store_.next_revision();
  auto staged = std::make_shared<std::vector<Staged>>();
  Batch batch;
  for (Edit& edit : edits) {
    const Object* before = image_.find(edit.key);
    Write write;
    write.key = edit.key;
    write.expected = before != nullptr ? before->modified : 0;
    if (const auto unread = unread_.find(edit.key); before == nullptr && unread != unread_.end())
      write.expected = unread->second.modified;
    if (!edit.plain) {
      write.op = Write::Op::remove;
      staged->push_back({edit.key, nullptr});
    } else {
      const auto split = conf::split_key(edit.key);
      auto object = std::make_shared<Object>();
      object->key = edit.key;
      object->plain = std::move(*edit.plain);
      object->created = before != nullptr ? before->created : revision;
      object->modified = revision;
      object->expires_ms = write.expires_ms = edit.expires_ms;
      JsonBox sealed(object->plain.value());
      if (split) sealer_.seal(split->kind, split->id, sealed.value(), sealed.alloc());
      write.json = to_json(sealed.value());
      staged->push_back({edit.key, std::move(object)});
    }
    batch.push_back(std::move(write));
  }
  image_.stage(*staged, revision);
  store_.submit(std::move(batch),
                [this, staged, revision, done = std::move(done)](Result<std::uint64_t> result) mutable {
                  if (result)
                    committed(revision, staged, std::move(done));
                  else
                    failed(result.error(), done);
                });
}

void Configuration::committed(std::uint64_t revision, const std::shared_ptr<std::vector<Staged>>& batch,
                              OnWritten done) {
  revision_ = revision;
  image_.commit(*batch, revision);
  std::vector<live::Change> changes;
  for (const Staged& s : *batch) {
    unread_.erase(s.key);
    changes.push_back(change_of(s.key, s.object.get()));
    if (s.object && s.object->expires_ms != 0) expiries_.emplace(s.object->expires_ms, s.key);
  }
  if (sink_ == nullptr) return done(Written{revision, 0, 0});
  sink_->publish(revision, std::move(changes), [revision, done = std::move(done)](unsigned applied, unsigned workers) {
    done(Written{revision, applied, workers});
  });
}

void Configuration::failed(const Error& why, const OnWritten& done) {
  if (store_.pending() == 0) {
    image_.drop_staged();
    store_.clear_failure();
  }
  done(why);
}

std::size_t Configuration::expire(std::int64_t now_ms) {
  std::vector<Edit> edits;
  while (!expiries_.empty() && expiries_.begin()->first <= now_ms) {
    const std::string key = expiries_.begin()->second;
    expiries_.erase(expiries_.begin());
    const Object* object = image_.find(key);
    if (object == nullptr || object->expires_ms == 0 || object->expires_ms > now_ms) continue;  // written again since
    bool there = false;
    for (const Edit& edit : edits) there = there || edit.key == key;
    if (!there) edits.push_back({key, nullptr, 0});
  }
  if (edits.empty()) return 0;
  std::vector<std::string> keys;
  for (const Edit& edit : edits) keys.push_back(edit.key);
  const std::size_t count = keys.size();
  write(std::move(edits), [this, now_ms, keys = std::move(keys)](const Result<Written>& result) {
    if (result) return;
    log::error("store: expired objects could not be removed, trying again: " + result.error().message());
    for (const std::string& key : keys) expiries_.emplace(now_ms + 1000, key);
  });
  return count;
}

std::vector<live::Change> Configuration::everything() const {
  std::vector<live::Change> all;
  image_.each_committed("", [&](const Object& object) {
    all.push_back(change_of(object.key, &object));
    return true;
  });
  for (const auto& [key, record] : unread_) {
    const auto split = conf::split_key(key);
    if (split) all.push_back({split->kind, split->id, false, record.json, record.created, record.modified});
  }
  return all;
}

}  // namespace sluice::admin
