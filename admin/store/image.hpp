// Image: the whole configuration in memory of the admin process, parsed, secrets in plain text.
//
// Two views over one ordered map. `committed` is what the store has made durable: GET answers come from it. `staged`
// lies over it: writes that are under way, against which later writes are checked, so that writes can pipeline and no
// two of them decide on the same old value. When a write fails all staged ones are dropped together.
// Main thread only. Objects are immutable and shared.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/base/json.hpp"

namespace sluice::admin {

// A JSON value with its memory, in small pieces: thousands of these are kept.
class JsonBox {
 public:
  JsonBox() : alloc_(std::make_unique<JsonDoc::AllocatorType>(1024)) {}
  explicit JsonBox(const Json& copy_of) : JsonBox() { value_.CopyFrom(copy_of, *alloc_); }
  Json& value() noexcept { return value_; }
  const Json& value() const noexcept { return value_; }
  JsonDoc::AllocatorType& alloc() noexcept { return *alloc_; }

 private:
  std::unique_ptr<JsonDoc::AllocatorType> alloc_;
  Json value_;
};

struct Object {
  std::string key;  // "routes/1"
  JsonBox plain;
  std::uint64_t created = 0;
  std::uint64_t modified = 0;
  std::int64_t expires_ms = 0;
};
using ObjectRef = std::shared_ptr<const Object>;

struct Staged {
  std::string key;
  ObjectRef object;  // null: removed
};

// What several objects must not have in common (consumer keys): told of every change of the staged view.
class ImageObserver {
 public:
  virtual ~ImageObserver() = default;
  virtual void changed(const std::string& key, const Object* before, const Object* after) = 0;
};

class Image {
 public:
  using Visit = std::function<bool(const Object&)>;  // false ends the walk

  void observe(ImageObserver* observer) { observer_ = observer; }

  // The staged view (what a new write must be checked against).
  const Object* find(std::string_view key) const noexcept;
  ObjectRef find_ref(std::string_view key) const noexcept;
  void each(std::string_view prefix, const Visit& visit) const;  // in key order
  std::size_t count(std::string_view prefix) const;

  // The committed view.
  const Object* find_committed(std::string_view key) const noexcept;
  void each_committed(std::string_view prefix, const Visit& visit) const;

  // Loads one committed object (start, standalone file).
  void load(ObjectRef object);
  void erase(const std::string& key);

  void stage(const std::vector<Staged>& batch, std::uint64_t revision);
  void commit(const std::vector<Staged>& batch, std::uint64_t revision);
  void drop_staged();

  std::size_t size() const noexcept { return slots_.size(); }

 private:
  struct Slot {
    ObjectRef committed;
    ObjectRef staged;  // meaningful while staged_revision != 0
    std::uint64_t staged_revision = 0;
    const ObjectRef& current() const noexcept { return staged_revision != 0 ? staged : committed; }
  };
  void tell(const std::string& key, const ObjectRef& before, const ObjectRef& after) {
    if (observer_ != nullptr) observer_->changed(key, before.get(), after.get());
  }

  std::map<std::string, Slot, std::less<>> slots_;
  ImageObserver* observer_ = nullptr;
};

}  // namespace sluice::admin
