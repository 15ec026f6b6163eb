#include "plugins/sdk/address_field.hpp"

#include "conf/base/cidr.hpp"

namespace sluice::sdk {

schema::Node address_field() {
  using namespace schema;
  const std::string octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  const std::string v4_range = "^(?:" + octet + "\\.){3}" + octet + "/(?:3[0-2]|[12]?[0-9])$";
  const std::string v6_range = "^[a-fA-F0-9]{0,4}(?::[a-fA-F0-9]{0,4}){1,8}/[0-9]{1,3}$";
  return any_of(
      {string().format("ipv4"), string().pattern(v4_range), string().format("ipv6"), string().pattern(v6_range)});
}

std::string check_addresses(const Json& conf, std::string_view name) {
  const Json* list = find(conf, name);
  if (list == nullptr || !list->IsArray()) return {};
  for (const auto& item : list->GetArray())
    if (!schema::is_secret_reference(text_of(item)) && !Cidr::parse(text_of(item)))
      return "invalid ip address: " + std::string(text_of(item));
  return {};
}

}  // namespace sluice::sdk
