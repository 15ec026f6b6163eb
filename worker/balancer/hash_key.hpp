// HashKey: the text of a request that consistent hashing goes by.
#pragma once

#include <string>
#include <string_view>

#include "conf/model/upstream.hpp"
#include "plugins/sdk/template.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::balancer {

class HashKey {
 public:
  HashKey(conf::HashOn on, const std::string& key);
  // A missing value is replaced by the client's address; an empty one stands.
  std::string_view of(sdk::RequestContext& ctx) const noexcept;

 private:
  conf::HashOn on_;
  sdk::Variable variable_;     // vars, header, cookie
  sdk::Template combination_;  // vars_combinations
};

}  // namespace sluice::balancer
