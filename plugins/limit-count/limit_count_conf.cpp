// limit-count's configuration: schema, cross-field rules, groups, names of the quota fields.
#include <set>

#include "plugins/limit-count/limit_count.hpp"
#include "plugins/sdk/limits/redis_schema.hpp"

namespace sluice::plugins::limit_count {

namespace {

schema::Node quota_node(const char* doc) {
  using namespace schema;
  return one_of({integer().greater_than(0), string()}).doc(doc);
}

const schema::Table<LimitCount::RuleConfig>& rule_table() {
  using Rule = LimitCount::RuleConfig;
  using namespace schema;
  static const auto kTable =
      schema::table<Rule>()
          .field("count", &Rule::count, quota_node("quota per window"), required)
          .field("time_window", &Rule::time_window, quota_node("seconds"), required)
          .field("key", &Rule::key, string().doc("a template; the rule applies when something of it resolves"), required)
          .field("header_prefix", &Rule::header_prefix, string().doc("prefix for rate limit headers"));
  return kTable;
}

}  // namespace

const schema::Table<LimitCount::Config>& LimitCount::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("count", &Config::count, quota_node("quota per window"))
          .field("time_window", &Config::time_window, quota_node("seconds"))
          .field("window_type", &Config::window_type,
                 string().one_of_values({"fixed", "sliding"}).default_value("fixed").doc("algorithm"))
          .field("rules", &Config::rules, rule_table())
          .field("group", &Config::group, string().doc("places with the same group share counters"))
          .field("key", &Config::key, string().default_value("remote_addr").doc("a variable's name, a template or a constant"))
          .field("key_type", &Config::key_type,
                 string().one_of_values({"var", "var_combination", "constant"}).default_value("var").doc("how key is read"))
          .field("rejected_code", &Config::rejected_code,
                 integer().at_least(200).at_most(599).default_value(503).doc("status of a refusal"))
          .field("rejected_msg", &Config::rejected_msg, string().min_length(1).doc("message of a refusal"))
          .field("policy", &Config::policy,
                 string()
                     .one_of_values({"local", "redis", "redis-cluster", "redis-sentinel"})
                     .default_value("local")
                     .doc("where counters live"))
          .field("allow_degradation", &Config::allow_degradation,
                 boolean().default_value(false).doc("let requests pass when the limiter fails"))
          .field("show_limit_quota_header", &Config::show_limit_quota_header,
                 boolean().default_value(true).doc("send the quota fields"))
          .accepted("sync_interval", number().default_value(-1).doc("of the Redis policies"))
          .field("headers_style", &Config::headers_style,
                 string().one_of_values({"x", "ietf", "both"}).doc("which quota fields; absent: x"))
          .field("dry_run", &Config::dry_run, boolean().doc("count and report, never refuse"))
          .field("bypass", &Config::bypass, sdk::BypassConfig::table())
          .refine([](Node n) {
            n = n.with_one_of({object().require({"count", "time_window"}), object().require({"rules"})});
            return sdk::with_redis_fields(n, sdk::RedisPolicies::with_sentinel);
          });
  return kTable;
}

const schema::Node& LimitCount::metadata_schema() {
  using namespace schema;
  static const Node kNode = object()
                                .property("limit_header", string().default_value("X-RateLimit-Limit"))
                                .property("remaining_header", string().default_value("X-RateLimit-Remaining"))
                                .property("reset_header", string().default_value("X-RateLimit-Reset"));
  return kNode;
}

std::string LimitCount::check_first(const Json& conf) {
  if (find(conf, "rules") != nullptr && (find(conf, "count") != nullptr || find(conf, "time_window") != nullptr))
    return "count/time_window and rules cannot be specified at the same time";
  return {};
}

std::string LimitCount::check(const Json& conf) {
  const Json* rules = find(conf, "rules");
  if (rules != nullptr && find(conf, "group") != nullptr) return "group and rules cannot be specified at the same time";
  const Json* policy = find(conf, "policy");
  const Json* interval = find(conf, "sync_interval");
  if (policy != nullptr && text_of(*policy) != "local" && interval != nullptr && interval->GetDouble() != -1) {
    if (interval->GetDouble() < 0.1) return "sync_interval should not be smaller than 0.1";
    const Json* window = find(conf, "time_window");
    if (window != nullptr && window->IsNumber() && interval->GetDouble() >= window->GetDouble())
      return "sync_interval should be smaller than time_window";
  }
  if (rules != nullptr) {
    std::set<std::string_view> seen;
    for (const Json& rule : rules->GetArray()) {
      const std::string_view key = text_of(*find(rule, "key"));
      if (!seen.insert(key).second) return "duplicate key '" + std::string(key) + "' in rules";
    }
  }
  return {};
}

namespace {

// The settings of a group as they are compared: defaults filled in, without `_meta`.
std::string group_settings(const Json& conf) {
  JsonDoc copy;
  copy.CopyFrom(conf, copy.GetAllocator());
  if (copy.IsObject() && copy.HasMember("_meta")) copy.RemoveMember("_meta");
  schema::validate(LimitCount::table().node(), copy, copy.GetAllocator());
  return canonical_json(copy);
}

bool group_matches(const std::string& group, const sdk::CompileContext& context) {
  if (!context.host().group_conf || context.conf() == nullptr) return true;
  const std::string in_force = context.host().group_conf(LimitCount::kTraits.name, group);
  if (in_force.empty()) return true;
  const auto first = parse_json(in_force);
  return !first || group_settings(*first) == group_settings(*context.conf());
}

// Metadata counts as a whole: what it leaves out has the default.
std::array<std::string, 3> field_names(const sdk::CompileContext& context, const std::optional<std::string>& prefix) {
  std::array<std::string, 3> names = {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"};
  constexpr std::array<std::string_view, 3> kMembers = {"limit_header", "remaining_header", "reset_header"};
  if (const Json* metadata = context.metadata(LimitCount::kTraits.name)) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (const Json* given = find(*metadata, kMembers[i]); given != nullptr && given->IsString())
        names[i] = text_of(*given);
  }
  if (prefix) {
    for (std::string& name : names)
      if (const auto at = name.find("RateLimit-"); at != std::string::npos) name.insert(at, *prefix + "-");
  }
  return names;
}

}  // namespace

Result<LimitCount> LimitCount::compile(Config config, sdk::CompileContext& context) {
  if (config.policy != "local") return invalid(sdk::redis_not_available(config.policy));
  if (config.group && !group_matches(*config.group, context)) return invalid("group conf mismatched");
  LimitCount made;
  auto bypass = sdk::Bypass::compile(std::move(config.bypass));
  if (!bypass) return bypass.error();
  made.bypass_ = std::move(*bypass);
  if (config.count && config.time_window) {
    Rule rule;
    rule.count = sdk::QuotaNumber(*config.count, false, context);
    rule.window = sdk::QuotaNumber(*config.time_window, false, context);
    rule.key = sdk::LimitKey(sdk::limit_key_kind(config.key_type), config.key, context);
    rule.names = field_names(context, std::nullopt);
    made.rules_.push_back(std::move(rule));
  }
  for (std::size_t i = 0; i < config.rules.size(); ++i) {
    const RuleConfig& r = config.rules[i];
    Rule rule;
    rule.count = sdk::QuotaNumber(r.count, false, context);
    rule.window = sdk::QuotaNumber(r.time_window, false, context);
    rule.text = context.text(r.key);
    rule.from_list = true;
    rule.names = field_names(context, r.header_prefix ? *r.header_prefix : std::to_string(i + 1));
    made.rules_.push_back(std::move(rule));
  }
  made.place_ = sdk::LimitPlace(kTraits.name, context, config.group.value_or(""));
  made.refusal_ = sdk::Refusal(config.rejected_code, config.rejected_msg);
  made.sliding_ = config.window_type == "sliding";
  made.allow_degradation_ = config.allow_degradation;
  made.show_fields_ = config.show_limit_quota_header;
  made.x_fields_ = config.headers_style != "ietf";
  made.ietf_fields_ = config.headers_style != "x";
  made.dry_run_ = config.dry_run;
  return made;
}

}  // namespace sluice::plugins::limit_count
