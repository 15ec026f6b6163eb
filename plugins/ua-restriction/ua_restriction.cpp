#include "plugins/ua-restriction/ua_restriction.hpp"

#include <algorithm>

#include "conf/base/text.hpp"
#include "plugins/sdk/json_text.hpp"
#include "plugins/sdk/replacement.hpp"

namespace sluice::plugins::ua_restriction {

using sdk::RequestContext;
using sdk::Verdict;

const schema::Table<UaRestriction::Config>& UaRestriction::table() {
  using namespace schema;
  static const Node kList = array(string().min_length(1)).min_items(1);
  static const auto kTable =
      schema::table<Config>()
          .field("bypass_missing", &Config::bypass_missing,
                 boolean().default_value(false).doc("let requests without User-Agent pass"))
          .field("allowlist", &Config::allowlist, kList.doc("patterns of user agents that may pass"))
          .field("denylist", &Config::denylist, kList.doc("patterns of user agents that may not"))
          .field("message", &Config::message,
                 string().min_length(1).max_length(1024).default_value("Not allowed").doc("told to who is refused"))
          .refine([](Node n) {
            return n.with_one_of({Node().require({"allowlist"}), Node().require({"denylist"})});
          });
  return kTable;
}

std::string UaRestriction::check(const Json& conf) {
  for (const char* name : {"allowlist", "denylist"})
    if (const Json* list = find(conf, name); list != nullptr && list->IsArray())
      for (const auto& item : list->GetArray())
        if (auto regex = Regex::compile(text_of(item)); !regex) return sdk::pattern_error(text_of(item), regex.error());
  return {};
}

Result<UaRestriction> UaRestriction::compile(Config config, sdk::CompileContext&) {
  UaRestriction made;
  made.listed_pass_ = !config.allowlist.empty();
  for (const std::string& text : made.listed_pass_ ? config.allowlist : config.denylist) {
    auto pattern = Regex::compile(text);
    if (!pattern) return invalid(sdk::pattern_error(text, pattern.error()));
    made.patterns_.push_back(std::move(*pattern));
  }
  made.bypass_missing_ = config.bypass_missing;
  made.body_ = sdk::json_line("message", config.message);
  return made;
}

Verdict UaRestriction::access(RequestContext& ctx) const noexcept {
  bool any = false, listed = false;
  for (const sdk::Field& field : ctx.request_headers) {
    if (field.id != sdk::FieldId::user_agent) continue;
    any = true;
    const std::string_view agent = text::trim(field.value);
    listed |= std::any_of(patterns_.begin(), patterns_.end(), [agent](const Regex& p) { return p.search(agent); });
  }
  const bool passes = any ? listed == listed_pass_ : bypass_missing_;
  return passes ? Verdict::proceed() : ctx.respond(403, body_);
}

}  // namespace sluice::plugins::ua_restriction
