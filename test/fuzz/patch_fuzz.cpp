// PATCH: input is a kind of patch, a document and a patch, separated by newlines.
//
// Merging the same patch twice must equal merging it once; what a sub-path replaced must be found there.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "admin/api/patch.hpp"
#include "conf/base/text.hpp"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto first = input.find('\n');
  const auto second = first == std::string_view::npos ? first : input.find('\n', first + 1);
  if (second == std::string_view::npos) return 0;
  const std::string_view path = input.substr(0, first);
  auto target = parse_json(input.substr(first + 1, second - first - 1));
  auto patch = parse_json(input.substr(second + 1));
  if (!target || !patch || !target->IsObject()) return 0;
  auto& alloc = target->GetAllocator();
  if (path.empty()) {
    if (!patch->IsObject()) return 0;
    admin::merge_patch(*target, *patch, alloc);
    JsonDoc once;
    once.CopyFrom(*target, once.GetAllocator());
    admin::merge_patch(*target, *patch, alloc);
    if (!equal_json(once, *target)) std::abort();
    return 0;
  }
  std::vector<std::string> members;
  for (std::string_view part : text::split(path, '/')) members.emplace_back(part);
  if (!admin::replace_at(*target, members, *patch, alloc)) return 0;
  const Json* at = &*target;
  for (const std::string& name : members) {
    at = find(*at, name);
    if (at == nullptr) std::abort();
  }
  if (!equal_json(*at, *patch)) std::abort();
  return 0;
}
