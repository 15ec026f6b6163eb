#include "plugins/ip-restriction/ip_restriction.hpp"

#include "plugins/sdk/address_field.hpp"
#include "plugins/sdk/json_text.hpp"

namespace sluice::plugins::ip_restriction {

using sdk::RequestContext;
using sdk::Verdict;

const schema::Table<IpRestriction::Config>& IpRestriction::table() {
  using namespace schema;
  static const Node kList = array(sdk::address_field()).min_items(1);
  static const auto kTable =
      schema::table<Config>()
          .field("message", &Config::message,
                 string()
                     .min_length(1)
                     .max_length(1024)
                     .default_value("Your IP address is not allowed")
                     .doc("told to who is refused"))
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
  std::string message = sdk::check_addresses(conf, "whitelist");
  return message.empty() ? sdk::check_addresses(conf, "blacklist") : message;
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
