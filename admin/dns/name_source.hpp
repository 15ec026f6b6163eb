// NameSource: addresses of names, kept fresh while somebody wants them. The resolver is one; tests have another.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/cidr.hpp"

namespace sluice::admin {

struct NameAnswer {
  std::vector<IpAddress> addresses;  // sorted; empty: the name has never resolved
  std::uint32_t ttl_seconds = 0;
};

class NameSource {
 public:
  virtual ~NameSource() = default;
  // From now on the name is kept fresh. Idempotent. Address literals are no names: never given.
  virtual void want(std::string_view name) = 0;
  virtual void unwant(std::string_view name) = 0;
  // What is known: nullptr until the first lookup has ended, one way or the other.
  virtual const NameAnswer* answer(std::string_view name) const = 0;
  // Called when a first lookup has ended, and when the addresses have changed. Set once, before want().
  std::function<void(std::string_view name, const NameAnswer& answer)> on_answer;
};

}  // namespace sluice::admin
