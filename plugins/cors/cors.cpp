#include "plugins/cors/cors.hpp"

#include <algorithm>

#include "conf/base/text.hpp"
#include "plugins/sdk/replacement.hpp"
#include "plugins/sdk/uri_text.hpp"

namespace sluice::plugins::cors {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

constexpr std::uint32_t kOriginTag = 1;
constexpr const char* kOriginsPattern = R"(^(\*|\*\*|null|\w+://[^,]+(,\w+://[^,]+)*)$)";
constexpr std::string_view kAllMethods = "GET,POST,PUT,DELETE,PATCH,HEAD,OPTIONS,CONNECT,TRACE";

std::string check_patterns(const Json& conf, const char* name) {
  const Json* list = find(conf, name);
  if (list == nullptr || !list->IsArray()) return {};
  for (const auto& item : list->GetArray())
    if (auto regex = Regex::compile(text_of(item)); !regex) return sdk::pattern_error(text_of(item), regex.error());
  return {};
}

}  // namespace

Origins::Origins(std::string_view text) : everybody_(text == "*"), everybody_by_name_(text == "**") {
  for (const std::string_view origin : text::split(text, ',')) list_.emplace_back(origin);
}

bool Origins::names(std::string_view origin) const noexcept {
  return !origin.empty() && std::find(list_.begin(), list_.end(), origin) != list_.end();
}

std::string_view Origins::answer_to(std::string_view origin) const noexcept {
  if (everybody_) return "*";
  if (everybody_by_name_) return origin.empty() ? std::string_view("*") : origin;
  return names(origin) ? origin : std::string_view();
}

std::string_view Cors::Rule::answer_to(std::string_view origin) const noexcept {
  if (patterns.empty()) return list.answer_to(origin);
  if (origin.empty()) return {};
  for (const Regex& pattern : patterns)
    if (pattern.search(origin)) return origin;
  return {};
}

const schema::Table<Cors::Config>& Cors::table() {
  using namespace schema;
  static const Node kPatterns = array(string().min_length(1).max_length(4096)).min_items(1).unique();
  static const auto kTable =
      schema::table<Config>()
          .field("allow_origins", &Config::allow_origins,
                 string()
                     .pattern(kOriginsPattern)
                     .default_value("*")
                     .doc("`*`, `**` (all, by name), `null`, or origins separated by commas"))
          .field("allow_methods", &Config::allow_methods,
                 string().default_value("*").doc("methods; `**`: all, by name"))
          .field("allow_headers", &Config::allow_headers,
                 string().default_value("*").doc("request headers; `**`: those that the browser asks for"))
          .field("expose_headers", &Config::expose_headers, string().doc("answer headers that scripts may read"))
          .field("max_age", &Config::max_age, integer().default_value(5).doc("seconds that a preflight answer holds"))
          .field("allow_credential", &Config::allow_credential,
                 boolean().default_value(false).doc("allow cookies; then no other option may be `*`"))
          .field("allow_origins_by_regex", &Config::allow_origins_by_regex,
                 kPatterns.doc("patterns of origins; when given, allow_origins is not looked at"))
          .field("allow_origins_by_metadata", &Config::allow_origins_by_metadata,
                 array(string().min_length(1).max_length(4096))
                     .min_items(1)
                     .unique()
                     .doc("names in the plugin's metadata"))
          .field("timing_allow_origins", &Config::timing_allow_origins,
                 string().pattern(kOriginsPattern).doc("who may see timing"))
          .field("timing_allow_origins_by_regex", &Config::timing_allow_origins_by_regex,
                 kPatterns.doc("patterns of who may see timing"));
  return kTable;
}

const schema::Node& Cors::metadata_schema() {
  static const schema::Node kNode = schema::object().property(
      "allow_origins", schema::map(schema::string().pattern(kOriginsPattern)).doc("lists of origins by name"));
  return kNode;
}

std::string Cors::check(const Json& conf) {
  const Json* credential = find(conf, "allow_credential");
  if (credential != nullptr && credential->IsTrue())
    for (const char* name :
         {"allow_origins", "allow_methods", "allow_headers", "expose_headers", "timing_allow_origins"})
      if (const Json* value = find(conf, name); value != nullptr && text_of(*value) == "*")
        return "you can not set '*' for other option when 'allow_credential' is true";
  if (std::string message = check_patterns(conf, "allow_origins_by_regex"); !message.empty()) return message;
  return check_patterns(conf, "timing_allow_origins_by_regex");
}

Result<Cors::Rule> Cors::rule_of(const std::string& list, const std::vector<std::string>& patterns) {
  Rule rule{Origins(list), {}};
  for (const std::string& text : patterns) {
    auto pattern = Regex::compile(text);
    if (!pattern) return invalid(sdk::pattern_error(text, pattern.error()));
    rule.patterns.push_back(std::move(*pattern));
  }
  return rule;
}

Result<Cors> Cors::compile(Config config, sdk::CompileContext& context) {
  Cors made;
  auto rule = rule_of(config.allow_origins, config.allow_origins_by_regex);
  if (!rule) return rule.error();
  made.rule_ = std::move(*rule);
  if (config.timing_allow_origins || !config.timing_allow_origins_by_regex.empty()) {
    auto timing = rule_of(config.timing_allow_origins.value_or(""), config.timing_allow_origins_by_regex);
    if (!timing) return timing.error();
    made.timing_ = std::move(*timing);
  }
  made.asks_metadata_ = !config.allow_origins_by_metadata.empty();
  const Json* metadata = context.metadata("cors");
  const Json* named = metadata == nullptr ? nullptr : find(*metadata, "allow_origins");
  for (const std::string& name : config.allow_origins_by_metadata)
    if (const Json* list = named == nullptr ? nullptr : find(*named, name))
      made.by_metadata_.emplace_back(text_of(*list));

  sdk::Arena arena;
  const auto safe = [&arena](std::string_view text) { return std::string(sdk::safe_field_value(arena, text)); };
  made.methods_ = config.allow_methods == "**" ? std::string(kAllMethods) : safe(config.allow_methods);
  made.echo_headers_ = config.allow_headers == "**";
  made.headers_ = safe(config.allow_headers);
  made.expose_ = safe(config.expose_headers);
  made.max_age_ = std::to_string(config.max_age);
  made.credential_ = config.allow_credential;
  return made;
}

Verdict Cors::rewrite(RequestContext& ctx) const noexcept {
  const auto origin = ctx.request_headers.get("origin");
  auto* kept = ctx.arena.make<std::string_view>(origin.value_or(std::string_view()));
  ctx.note_or_add(this, kOriginTag) = reinterpret_cast<std::uintptr_t>(kept);
  return ctx.method == "OPTIONS" ? ctx.respond(200) : Verdict::proceed();
}

std::string_view Cors::allowed(std::string_view origin) const noexcept {
  if (asks_metadata_) {
    for (const Origins& origins : by_metadata_)
      if (origins.everybody() ? !origin.empty() : !origins.answer_to(origin).empty())
        return origins.everybody() ? origin : origins.answer_to(origin);
    if (rule_.list.everybody()) return {};
  }
  return rule_.answer_to(origin);
}

void Cors::header_filter(RequestContext& ctx) const noexcept {
  const std::uint64_t* note = ctx.note(this, kOriginTag);
  const std::string_view origin = note == nullptr
                                      ? std::string_view()
                                      : *reinterpret_cast<const std::string_view*>(static_cast<std::uintptr_t>(*note));
  sdk::HeaderList& out = ctx.response_headers;
  if (!rule_.list.everybody()) out.add("Vary", "Origin");
  const auto set = [&out](std::string_view name, std::string_view value) {
    if (!value.empty()) out.set(name, value);
  };
  if (const std::string_view value = allowed(origin); !value.empty()) {
    set("Access-Control-Allow-Origin", value);
    set("Access-Control-Allow-Methods", methods_);
    set("Access-Control-Max-Age", max_age_);
    set("Access-Control-Expose-Headers", expose_);
    set("Access-Control-Allow-Headers",
        echo_headers_ ? ctx.request_headers.get("access-control-request-headers").value_or(std::string_view())
                      : std::string_view(headers_));
    if (credential_) out.set("Access-Control-Allow-Credentials", "true");
  }
  if (timing_) set("Timing-Allow-Origin", timing_->answer_to(origin));
}

}  // namespace sluice::plugins::cors
