// Configuration: image, store and bus tied together; the one place where a change becomes true.
//
// A write is staged in the image, submitted to the store, and on its commit moved to the committed view and published
// to the workers; its caller hears when the workers have it. Writes pipeline. When the store fails, everything staged
// is dropped and every write under way is refused; nothing was acknowledged, so nothing is lost.
// Main thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "admin/api/change_sink.hpp"
#include "admin/store/image.hpp"
#include "admin/store/sealer.hpp"
#include "admin/store/store.hpp"

namespace sluice::admin {

struct Edit {
  std::string key;
  std::shared_ptr<JsonBox> plain;  // null: remove
  std::int64_t expires_ms = 0;
};

struct Written {
  std::uint64_t revision = 0;
  unsigned applied = 0;
  unsigned workers = 0;
};
using OnWritten = std::function<void(Result<Written>)>;

class Configuration {
 public:
  Configuration(Store& store, const Sealer& sealer, ChangeSink* sink) : store_(store), sealer_(sealer), sink_(sink) {}

  // Opens the store and fills the image. Objects that cannot be read are left out of it and logged by key; they can be
  // written again.
  Result<void> open();

  Image& image() noexcept { return image_; }
  const Image& image() const noexcept { return image_; }
  const Sealer& sealer() const noexcept { return sealer_; }
  void set_sink(ChangeSink* sink) noexcept { sink_ = sink; }
  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint64_t revision() const noexcept { return revision_; }  // of the last commit
  std::uint64_t next_revision() const noexcept { return store_.next_revision(); }
  std::size_t pending() const noexcept { return store_.pending(); }

  // REQUIRES: checked edits, each key once. `done` is called once.
  void write(std::vector<Edit> edits, OnWritten done);

  // Removes what has expired; call about once a second. Returns how many objects it took.
  std::size_t expire(std::int64_t now_ms);

  // Everything committed, for a bus that begins. What cannot be read goes along as it is: a worker that has a good version
  // of it keeps that one, where leaving it out would take it away.
  std::vector<live::Change> everything() const;

 private:
  void committed(std::uint64_t revision, const std::shared_ptr<std::vector<Staged>>& batch, OnWritten done);
  void failed(const Error& why, const OnWritten& done);

  Store& store_;
  const Sealer& sealer_;
  ChangeSink* sink_;
  Image image_;
  std::uint64_t epoch_ = 0;
  std::uint64_t revision_ = 0;
  std::multimap<std::int64_t, std::string> expiries_;
  std::map<std::string, Record> unread_;  // what the store has and the image has not
};

live::Change change_of(const std::string& key, const Object* object);

}  // namespace sluice::admin
