// Shared by the files that turn validated JSON into structs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conf/model/check.hpp"
#include "conf/model/resources.hpp"
#include "conf/schema/read.hpp"

namespace sluice::conf {

Result<void> read_value(const Json& value, Timeout& out);

namespace parse {

// A copy of `value`, checked by all rules of `kind`, with defaults filled in.
Result<JsonDoc> validated(Kind kind, const Json& value);

// Member `name` of `from`, when it is there. The first failure is kept in `error` and ends all further reading.
struct Fields {
  const Json& from;
  Error error;
  bool failed = false;

  template <class T>
  Fields& read(std::string_view name, T& out) {
    const Json* v = failed ? nullptr : find(from, name);
    if (v == nullptr) return *this;
    if (auto done = schema::read_into(*v, out); !done) {
      failed = true;
      error = invalid("property \"" + std::string(name) + "\" validation failed: " + done.error().message());
    }
    return *this;
  }
  Fields& id(std::string_view name, std::string& out) {
    if (const Json* v = find(from, name)) out = id_text(*v);
    return *this;
  }
  // `one` or `many`, whichever is there.
  Fields& one_or_many(std::string_view one, std::string_view many, std::vector<std::string>& out) {
    std::string single;
    read(one, single);
    if (!single.empty()) out.push_back(std::move(single));
    return read(many, out);
  }
  bool enabled() const {
    const Json* status = find(from, "status");
    return status == nullptr || !status->IsNumber() || status->GetDouble() != 0;
  }
};

Result<Upstream> upstream(const Json& validated);  // from a value with defaults
void lower(std::vector<std::string>& texts);

}  // namespace parse

}  // namespace sluice::conf
