#include "plugins/ip-restriction/ip_restriction.hpp"

#include "plugins/sdk/json_text.hpp"

namespace sluice::plugins::ip_restriction {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

// What a list item looks like: an address, or an address and a number of bits. What fits here and is no range all the
// same (`::1/129`) gets the message of the address parser.
schema::Node address_node() {
  using namespace schema;
  const std::string octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  const std::string v4_range = "^(?:" + octet + "\\.){3}" + octet + "/(?:3[0-2]|[12]?[0-9])$";
  const std::string v6_range = "^[a-fA-F0-9]{0,4}(?::[a-fA-F0-9]{0,4}){1,8}/[0-9]{1,3}$";
  return any_of({string().format("ipv4"), string().pattern(v4_range), string().format("ipv6"),
                 string().pattern(v6_range)});
}

}  // namespace

const schema::Table<IpRestriction::Config>& IpRestriction::table() {
  using namespace schema;
  static const Node kList = array(address_node()).min_items(1);
  static const auto kTable =
      schema::table<Config>()
          .field("message", &Config::message,
                 string().min_length(1).max_length(1024).default_value("Your IP address is not allowed").doc("told to who is refused"))
          .field("response_code", &Config::response_code,
                 integer().at_least(403).at_most(404).default_value(403).doc("status of the refusal"))
          .field("whitelist", &Config::whitelist, kList.doc("addresses and ranges that may pass"))
          .field("blacklist", &Config::blacklist, kList.doc("addresses and ranges that may not"))
          .refine([](Node n) {
            return n.with_one_of({Node().require({"whitelist"}), Node().require({"blacklist"})});
          });
  return kTable;
}

std::string IpRestriction::check(const Json& conf) {
  for (const char* name : {"whitelist", "blacklist"}) {
    const Json* list = find(conf, name);
    if (list == nullptr || !list->IsArray()) continue;
    for (const auto& item : list->GetArray())
      if (!schema::is_secret_reference(text_of(item)) && !Cidr::parse(text_of(item)))
        return "invalid ip address: " + std::string(text_of(item));
  }
  return {};
}

Result<IpRestriction> IpRestriction::compile(Config config, sdk::CompileContext&) {
  IpRestriction made;
  made.listed_pass_ = !config.whitelist.empty();
  auto set = CidrSet::parse(made.listed_pass_ ? config.whitelist : config.blacklist);
  if (!set) return set.error();
  made.listed_ = std::move(*set);
  made.status_ = static_cast<std::uint16_t>(config.response_code);
  made.body_ = sdk::json_line("message", config.message);
  return made;
}

Verdict IpRestriction::access(RequestContext& ctx) const noexcept {
  if (listed_.contains(ctx.client_address) == listed_pass_) return Verdict::proceed();
  return ctx.respond(status_, body_);
}

}  // namespace sluice::plugins::ip_restriction
