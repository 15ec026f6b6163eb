// Comparison of secrets: the time taken depends on the lengths only, not on where the texts differ.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

inline bool equal_constant_time(std::string_view given, std::string_view secret) noexcept {
  // Always walks `given`; an empty secret is compared against a stand-in so that no length is special.
  volatile unsigned char difference = given.size() == secret.size() ? 0 : 1;
  const std::string_view other = secret.empty() ? std::string_view("\0", 1) : secret;
  for (std::size_t i = 0; i < given.size(); ++i)
    difference = static_cast<unsigned char>(difference | (static_cast<unsigned char>(given[i]) ^
                                                          static_cast<unsigned char>(other[i % other.size()])));
  return difference == 0;
}

}  // namespace sluice
