#include "plugins/proxy-rewrite/proxy_rewrite.hpp"

#include "plugins/sdk/json_text.hpp"
#include "plugins/sdk/uri_text.hpp"

namespace sluice::plugins::proxy_rewrite {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

constexpr const char* kMethods[] = {"GET",  "POST", "PUT",      "HEAD", "DELETE", "OPTIONS", "MKCOL",
                                    "COPY", "MOVE", "PROPFIND", "LOCK", "UNLOCK", "PATCH",   "TRACE"};

std::string check_pair(std::string_view pattern, std::string_view replacement) {
  if (schema::is_secret_reference(pattern) || schema::is_secret_reference(replacement)) return {};
  std::string reason;
  if (auto regex = Regex::compile(pattern); !regex)
    reason = sdk::pattern_error(pattern, regex.error());
  else if (auto text = sdk::Replacement::compile(replacement); !text)
    reason = text.error().reason;
  if (reason.empty()) return {};
  return "invalid regex_uri(" + std::string(pattern) + ", " + std::string(replacement) + "): " + reason;
}

// A variable's value must not open a query: its first '?' is written as %3F.
std::string_view hide_question_mark(RequestContext& ctx, std::string_view value) noexcept {
  const auto at = value.find('?');
  if (at == std::string_view::npos) return value;
  return ctx.arena.concat({value.substr(0, at), "%3F", value.substr(at + 1)});
}

}  // namespace

const schema::Table<ProxyRewrite::Config>& ProxyRewrite::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("uri", &Config::uri,
                 string()
                     .min_length(1)
                     .max_length(4096)
                     .pattern(R"(^\/.*)")
                     .doc("new path, a template; wins over regex_uri"))
          .field("method", &Config::method,
                 string().one_of_values({std::begin(kMethods), std::end(kMethods)}).doc("new method"))
          .field("regex_uri", &Config::regex_uri,
                 array(string()).min_items(2).doc("pairs of pattern and replacement; the first match is taken"))
          .field("host", &Config::host,
                 string().pattern(R"(^[0-9a-zA-Z-.]+(:\d{1,5})?$)").doc("Host sent upstream, no variables"))
          .field("headers", &Config::headers, FieldEdits::node().doc("flat map, or add, set and remove"))
          .field(
              "use_real_request_uri_unsafe", &Config::use_real_request_uri_unsafe,
              boolean().default_value(false).doc("start from the target as received, nothing is normalised or escaped"))
          .refine([](Node n) { return n.min_properties(1); });
  return kTable;
}

// The default of use_real_request_uri_unsafe would hide that nothing was given.
std::string ProxyRewrite::check_first(const Json& conf) {
  const bool empty = (conf.IsObject() && conf.ObjectEmpty()) || (conf.IsArray() && conf.Empty());
  return empty ? "expect object to have at least 1 properties" : "";
}

std::string ProxyRewrite::check(const Json& conf) {
  if (const Json* rules = find(conf, "regex_uri"); rules != nullptr && rules->IsArray()) {
    if (rules->Size() % 2 != 0) return "The length of regex_uri should be an even number";
    for (rapidjson::SizeType i = 0; i + 1 < rules->Size(); i += 2)
      if (std::string message = check_pair(text_of((*rules)[i]), text_of((*rules)[i + 1])); !message.empty())
        return message;
  }
  const Json* headers = find(conf, "headers");
  return headers == nullptr ? std::string() : FieldEdits::check(*headers);
}

Result<ProxyRewrite> ProxyRewrite::compile(Config config, sdk::CompileContext& context) {
  ProxyRewrite made;
  made.host_ = std::move(config.host);
  made.method_ = std::move(config.method);
  made.unsafe_ = config.use_real_request_uri_unsafe;
  made.has_uri_ = !config.uri.empty();
  made.uri_ = context.text(config.uri);
  for (std::size_t i = 0; i + 1 < config.regex_uri.size(); i += 2) {
    auto pattern = Regex::compile(config.regex_uri[i]);
    auto replacement = sdk::Replacement::compile(config.regex_uri[i + 1]);
    if (!pattern || !replacement) return invalid(check_pair(config.regex_uri[i], config.regex_uri[i + 1]));
    made.rules_.push_back({std::move(*pattern), std::move(*replacement)});
  }
  made.keeps_target_ = !made.has_uri_ && made.rules_.empty() && !made.unsafe_ && made.host_.empty();
  if (config.headers) made.edits_ = FieldEdits::compile(config.headers.get(), context);
  return made;
}

ProxyRewrite::Target ProxyRewrite::from_template(RequestContext& ctx, std::string_view source) const noexcept {
  std::string_view text = uri_.expand(ctx, &hide_question_mark).text;
  if (!unsafe_) return {text, true};
  const auto mark = source.find('?');
  if (mark == std::string_view::npos) return {text, true};
  const bool joins = text.find('?') != std::string_view::npos;
  return {ctx.arena.concat({text, joins ? "&" : "?", source.substr(mark + 1)}), true};
}

ProxyRewrite::Target ProxyRewrite::from_rules(RequestContext& ctx, std::string_view source) const noexcept {
  Target target{source, source.find('?') == std::string_view::npos};
  Captures captures;
  for (const Rule& rule : rules_) {
    const auto done = sdk::substitute_once(rule.pattern, rule.replacement, source, ctx.arena, target.text, captures);
    if (done == sdk::Substituted::no) continue;
    if (done == sdk::Substituted::failed) {
      target.failed = &rule;
      break;
    }
    const auto kept = ctx.arena.array<std::string_view>(captures.count);
    std::copy_n(captures.groups.begin(), captures.count, kept.begin());
    ctx.regex_captures = kept;
    break;
  }
  return target;
}

std::string_view ProxyRewrite::encoded(RequestContext& ctx, const Target& target) const noexcept {
  sdk::Arena& arena = ctx.arena;
  if (unsafe_) return sdk::escape_line_breakers(arena, target.text);
  const auto mark = target.has_query_mark ? target.text.find('?') : std::string_view::npos;
  const std::string_view path = sdk::escape_path(arena, target.text.substr(0, mark));
  const std::string_view added =
      mark == std::string_view::npos ? std::string_view() : sdk::escape_line_breakers(arena, target.text.substr(mark));
  if (ctx.query.empty()) return added.empty() ? path : arena.concat({path, added});
  return arena.concat({path, added, added.empty() ? "?" : "&", ctx.query});
}

Verdict ProxyRewrite::rewrite(RequestContext& ctx) const noexcept {
  if (!host_.empty()) ctx.upstream_host = host_;
  if (!keeps_target_) {
    const Verdict done = rewrite_target(ctx);
    if (done.ends_request()) return done;
  }
  edits_.apply(ctx);
  if (!method_.empty()) ctx.upstream_method = method_;
  return Verdict::proceed();
}

Verdict ProxyRewrite::rewrite_target(RequestContext& ctx) const noexcept {
  const std::string_view source = unsafe_ ? sdk::origin_form(ctx.target) : ctx.path;
  Target target{source, false};
  if (has_uri_)
    target = from_template(ctx, source);
  else if (!rules_.empty())
    target = from_rules(ctx, source);
  if (target.failed != nullptr) {
    const std::string_view reason =
        ctx.arena.concat({"failed to match the uri ", source, " (", target.failed->pattern.pattern(),
                          ")  : limits of the regular expression engine exceeded"});
    return ctx.respond(500, sdk::json_line(ctx.arena, "error_msg", reason));
  }
  std::string_view uri = encoded(ctx, target);
  if (!uri.starts_with('/') && uri != "*") uri = ctx.arena.concat({"/", uri});  // else it were no request target
  ctx.upstream_uri = uri;
  return Verdict::proceed();
}

}  // namespace sluice::plugins::proxy_rewrite
