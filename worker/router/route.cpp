#include "worker/router/route.hpp"

#include <algorithm>
#include <array>

#include "conf/base/text.hpp"

namespace sluice::router {
namespace {
constexpr std::array<std::string_view, 10> kMethods = {"GET",  "POST",    "PUT",     "DELETE", "PATCH",
                                                       "HEAD", "OPTIONS", "CONNECT", "TRACE",  "PURGE"};

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}
}  // namespace

HostList::HostList(const std::vector<std::string>& given) {
  patterns.reserve(given.size());
  for (const std::string& host : given)
    if (std::string low = text::to_lower(host); !low.empty() && !contains(patterns, low))
      patterns.push_back(std::move(low));
}

std::uint16_t method_bit(std::string_view method) noexcept {
  for (std::size_t i = 0; i < kMethods.size(); ++i)
    if (kMethods[i] == method) return static_cast<std::uint16_t>(1u << i);
  return 0;
}

std::uint16_t method_mask(const std::vector<std::string>& methods) noexcept {
  if (methods.empty()) return kAnyMethod;
  std::uint16_t mask = 0;
  for (const std::string& method : methods) mask = static_cast<std::uint16_t>(mask | method_bit(method));
  return mask;
}

void Route::set_patterns(const std::vector<std::string>& uris, bool parameters) {
  std::vector<std::string> distinct;
  for (const std::string& uri : uris)
    if (!contains(distinct, uri)) distinct.push_back(uri);
  candidates.clear();
  candidates.reserve(distinct.size());
  for (std::uint32_t i = 0; i < distinct.size(); ++i) candidates.emplace_back(*this, i, distinct[i], parameters);
}

bool goes_before(const Candidate& a, const Candidate& b) noexcept {
  const Route &x = *a.route, &y = *b.route;
  if (x.priority != y.priority) return x.priority > y.priority;
  if (a.pattern.text().size() != b.pattern.text().size()) return a.pattern.text().size() > b.pattern.text().size();
  if (x.created != y.created) return x.created < y.created;
  if (x.id != y.id) return x.id < y.id;
  return a.index < b.index;
}

}  // namespace sluice::router
