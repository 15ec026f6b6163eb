#include "plugins/uri-blocker/uri_blocker.hpp"

#include <algorithm>

#include "plugins/sdk/json_text.hpp"
#include "plugins/sdk/replacement.hpp"

namespace sluice::plugins::uri_blocker {

using sdk::RequestContext;
using sdk::Verdict;

const schema::Table<UriBlocker::Config>& UriBlocker::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field(
              "block_rules", &Config::block_rules,
              array(string().min_length(1).max_length(4096)).unique().doc("patterns; an empty list blocks everything"),
              required)
          .field("rejected_code", &Config::rejected_code,
                 integer().at_least(200).default_value(403).doc("status of the refusal"))
          .field("rejected_msg", &Config::rejected_msg, string().min_length(1).doc("told to who is refused"))
          .field("case_insensitive", &Config::case_insensitive,
                 boolean().default_value(false).doc("match without regard to case"));
  return kTable;
}

std::string UriBlocker::check(const Json& conf) {
  const Json* rules = find(conf, "block_rules");
  if (rules == nullptr || !rules->IsArray()) return {};
  for (const auto& rule : rules->GetArray())
    if (auto regex = Regex::compile(text_of(rule)); !regex) return sdk::pattern_error(text_of(rule), regex.error());
  return {};
}

Result<UriBlocker> UriBlocker::compile(Config config, sdk::CompileContext& context) {
  UriBlocker made;
  std::string all;
  for (const std::string& rule : config.block_rules) all += (all.empty() ? "" : "|") + rule;
  auto rules = Regex::compile(all, config.case_insensitive ? Regex::caseless : Regex::none);
  if (!rules) return invalid(sdk::pattern_error(all, rules.error()));
  made.rules_ = std::move(*rules);
  made.request_uri_ = context.variable("request_uri");
  made.status_ = static_cast<std::uint16_t>(std::min(config.rejected_code, 999));
  if (!config.rejected_msg.empty()) made.body_ = sdk::json_line("error_msg", config.rejected_msg);
  return made;
}

Verdict UriBlocker::rewrite(RequestContext& ctx) const noexcept {
  Captures captures;
  // A pattern that runs into the engine's limits blocks: a hostile path must not talk its way through.
  if (rules_.try_match(request_uri_.get(ctx).text, captures) == Regex::Outcome::unmatched) return Verdict::proceed();
  return body_.empty() ? ctx.respond(status_) : ctx.respond(status_, body_);
}

}  // namespace sluice::plugins::uri_blocker
