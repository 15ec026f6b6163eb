#include "admin/store/image.hpp"

namespace sluice::admin {

const Object* Image::find(std::string_view key) const noexcept {
  const auto at = slots_.find(key);
  return at == slots_.end() ? nullptr : at->second.current().get();
}

ObjectRef Image::find_ref(std::string_view key) const noexcept {
  const auto at = slots_.find(key);
  return at == slots_.end() ? nullptr : at->second.current();
}

const Object* Image::find_committed(std::string_view key) const noexcept {
  const auto at = slots_.find(key);
  return at == slots_.end() ? nullptr : at->second.committed.get();
}

void Image::each(std::string_view prefix, const Visit& visit) const {
  for (auto at = slots_.lower_bound(prefix); at != slots_.end() && at->first.starts_with(prefix); ++at)
    if (const Object* object = at->second.current().get())
      if (!visit(*object)) return;
}

std::size_t Image::count(std::string_view prefix) const {
  std::size_t n = 0;
  each(prefix, [&](const Object&) {
    ++n;
    return true;
  });
  return n;
}

void Image::each_committed(std::string_view prefix, const Visit& visit) const {
  for (auto at = slots_.lower_bound(prefix); at != slots_.end() && at->first.starts_with(prefix); ++at)
    if (const Object* object = at->second.committed.get())
      if (!visit(*object)) return;
}

void Image::load(ObjectRef object) {
  Slot& slot = slots_[object->key];
  const ObjectRef before = slot.current();
  slot.committed = std::move(object);
  if (slot.staged_revision == 0) tell(slot.committed->key, before, slot.committed);
}

void Image::erase(const std::string& key) {
  const auto at = slots_.find(key);
  if (at == slots_.end()) return;
  const ObjectRef before = at->second.current();
  at->second.committed.reset();
  if (at->second.staged_revision != 0) return;
  slots_.erase(at);
  tell(key, before, nullptr);
}

void Image::stage(const std::vector<Staged>& batch, std::uint64_t revision) {
  for (const Staged& change : batch) {
    Slot& slot = slots_[change.key];
    const ObjectRef before = slot.current();
    slot.staged = change.object;
    slot.staged_revision = revision;
    tell(change.key, before, change.object);
  }
}

void Image::commit(const std::vector<Staged>& batch, std::uint64_t revision) {
  for (const Staged& change : batch) {
    const auto at = slots_.find(change.key);
    if (at == slots_.end()) continue;
    Slot& slot = at->second;
    slot.committed = change.object;
    if (slot.staged_revision == revision) {  // else a later write lies over this one already
      slot.staged_revision = 0;
      slot.staged.reset();
    }
    if (!slot.committed && slot.staged_revision == 0) slots_.erase(at);
  }
}

void Image::drop_staged() {
  for (auto at = slots_.begin(); at != slots_.end();) {
    Slot& slot = at->second;
    if (slot.staged_revision != 0) {
      tell(at->first, slot.staged, slot.committed);
      slot.staged.reset();
      slot.staged_revision = 0;
    }
    at = slot.committed ? std::next(at) : slots_.erase(at);
  }
}

}  // namespace sluice::admin
