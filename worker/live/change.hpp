// Change: one stored object as it travels from the store over the bus into the live tables.
//
// A batch of changes is one revision: it becomes visible whole or not at all. A snapshot is a batch that holds
// everything there is. ObjectError is what a worker says about an object that it could not put in force.
#pragma once

#include <cstdint>
#include <string>

#include "conf/model/kinds.hpp"

namespace sluice::live {

struct Change {
  conf::Kind kind{};
  std::string id;               // "1"; credentials: "<username>/credentials/<id>"
  bool removed = false;
  std::string json;             // the stored value, compact, secrets in plain text; empty when removed
  std::uint64_t created = 0;    // createdIndex
  std::uint64_t modified = 0;   // modifiedIndex

  friend bool operator==(const Change&, const Change&) = default;
};

struct ObjectError {
  conf::Kind kind{};
  std::string id;
  std::string message;

  friend bool operator==(const ObjectError&, const ObjectError&) = default;
};

}  // namespace sluice::live
