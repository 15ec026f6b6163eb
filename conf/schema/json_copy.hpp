// JsonCopy: an owning, immutable, cheap-to-copy piece of JSON for configuration structs (plugin confs, expressions).
#pragma once

#include <memory>

#include "conf/base/json.hpp"

namespace sluice::schema {

class JsonCopy {
 public:
  JsonCopy() = default;
  explicit JsonCopy(const Json& value) {
    auto doc = std::make_shared<JsonDoc>();
    static_cast<Json&>(*doc) = copy_json(value, doc->GetAllocator());
    doc_ = std::move(doc);
  }

  const Json& get() const noexcept {  // null when nothing was copied
    static const Json kNull;
    return doc_ ? static_cast<const Json&>(*doc_) : kNull;
  }
  explicit operator bool() const noexcept { return doc_ != nullptr; }

 private:
  std::shared_ptr<const JsonDoc> doc_;
};

}  // namespace sluice::schema
