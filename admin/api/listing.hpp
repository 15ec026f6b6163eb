// Lists: filters and paging of GET <collection>.
#pragma once

#include <string>
#include <vector>

#include "admin/api/answers.hpp"
#include "admin/http/message.hpp"
#include "admin/store/image.hpp"
#include "conf/base/pcre.hpp"
#include "conf/model/kinds.hpp"

namespace sluice::admin {

class Listing {
 public:
  // Error: a page_size out of bounds (its message is plain text), a pattern that does not compile.
  static Outcome<Listing> from(const http::Request& request, conf::Kind kind);

  bool takes(const Json& value) const;
  // Sorts and cuts when paging is on. `objects` come in key order, already filtered.
  std::vector<const Object*> page(std::vector<const Object*> objects) const;

 private:
  Regex name_, uri_;
  std::string label_;
  std::vector<std::pair<std::string, std::string>> equals_;  // service_id, upstream_id
  bool paging_ = false;
  std::uint64_t page_ = 1, size_ = 0;
};

}  // namespace sluice::admin
