// Resource JSON: the first octet chooses the kind, the rest is the value as a client would send it.
//
// No input may crash a check, and what is valid must stay valid when its defaults are filled in.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "conf/model/check.hpp"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto kind = static_cast<conf::Kind>(data[0] % conf::kKindCount);
  auto value = parse_json(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  if (!value) return 0;
  conf::CheckOptions options;
  options.manager = "vault";
  options.from_admin = (data[0] & 64) != 0;
  if (!conf::check_all(kind, *value, value->GetAllocator(), false, options).empty()) return 0;
  if (!conf::check_all(kind, *value, value->GetAllocator(), true, options).empty()) std::abort();
  if (!conf::check_all(kind, *value, value->GetAllocator(), true, options).empty()) std::abort();
  return 0;
}
