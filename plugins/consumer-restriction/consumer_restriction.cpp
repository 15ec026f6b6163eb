#include "plugins/consumer-restriction/consumer_restriction.hpp"

#include <algorithm>

#include "plugins/sdk/json_text.hpp"

namespace sluice::plugins::consumer_restriction {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

bool holds(const std::vector<std::string>& list, std::string_view text) noexcept {
  return std::find(list.begin(), list.end(), text) != list.end();
}

using Subject = std::string_view (*)(const RequestContext&) noexcept;

Subject subject_of(std::string_view type) noexcept {
  if (type == "service_id") return [](const RequestContext& c) noexcept { return c.service_id; };
  if (type == "route_id") return [](const RequestContext& c) noexcept { return c.route_id; };
  if (type == "consumer_group_id")
    return [](const RequestContext& c) noexcept { return c.consumer ? std::string_view(c.consumer->group_id) : ""; };
  return [](const RequestContext& c) noexcept { return c.consumer ? std::string_view(c.consumer->name) : ""; };
}

}  // namespace

const schema::Table<ConsumerRestriction::Config>& ConsumerRestriction::table() {
  using namespace schema;
  static const Node kMethod =
      string().one_of_values({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "CONNECT", "TRACE", "PURGE"});
  static const auto kMethods =
      schema::table<MethodsConfig>()
          .field("user", &MethodsConfig::user, string().doc("whose methods these are"))
          .field("methods", &MethodsConfig::methods, array(kMethod).min_items(1).doc("methods that the user may use"));
  static const auto kTable =
      schema::table<Config>()
          .field("type", &Config::type,
                 string()
                     .one_of_values({"consumer_name", "service_id", "route_id", "consumer_group_id"})
                     .default_value("consumer_name")
                     .doc("what the lists name"))
          .field("blacklist", &Config::blacklist, array(string()).min_items(1).doc("who may not pass"))
          .field("whitelist", &Config::whitelist, array(string()).min_items(1).doc("who may pass"))
          .field("allowed_by_methods", &Config::allowed_by_methods, kMethods, schema::optional,
                 [](Node n) { return n.doc("methods by user; users without an entry are not restricted"); })
          .field("rejected_code", &Config::rejected_code,
                 integer().at_least(200).default_value(403).doc("status of the refusal"))
          .field("rejected_msg", &Config::rejected_msg, string().doc("told to who is refused"))
          .refine([](Node n) {
            return n.require_any({{"blacklist"}, {"whitelist"}, {"allowed_by_methods"}});
          });
  return kTable;
}

Result<ConsumerRestriction> ConsumerRestriction::compile(Config config, sdk::CompileContext&) {
  ConsumerRestriction made;
  made.subject_ = subject_of(config.type);
  made.blacklist_ = std::move(config.blacklist);
  made.whitelist_ = std::move(config.whitelist);
  made.by_methods_ = std::move(config.allowed_by_methods);
  made.status_ = static_cast<std::uint16_t>(std::min(config.rejected_code, 999));
  made.missing_body_ =
      sdk::json_line("message", "The request is rejected, please check the " + config.type + " for this request");
  made.refused_body_ = sdk::json_line(
      "message", config.rejected_msg.empty() ? "The " + config.type + " is forbidden." : config.rejected_msg);
  return made;
}

bool ConsumerRestriction::refuses(std::string_view who, std::string_view method) const noexcept {
  if (holds(blacklist_, who)) return true;
  const bool whitelisted = holds(whitelist_, who);
  if (!whitelist_.empty() && !whitelisted) return true;
  if (whitelisted) return false;
  for (const MethodsConfig& entry : by_methods_)
    if (entry.user == who) return !holds(entry.methods, method);
  return false;
}

Verdict ConsumerRestriction::access(RequestContext& ctx) const noexcept {
  const std::string_view who = subject_(ctx);
  if (who.empty()) return ctx.respond(401, missing_body_);
  return refuses(who, ctx.method) ? ctx.respond(status_, refused_body_) : Verdict::proceed();
}

}  // namespace sluice::plugins::consumer_restriction
