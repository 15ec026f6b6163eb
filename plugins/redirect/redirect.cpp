#include "plugins/redirect/redirect.hpp"

#include <algorithm>
#include <cstring>

#include "conf/base/text.hpp"
#include "plugins/sdk/chance.hpp"
#include "plugins/sdk/uri_text.hpp"

namespace sluice::plugins::redirect {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

constexpr int kHttpsPort = 443;

bool name_char(char c) noexcept {
  return c == '_' || text::is_digit(c) || (text::lower(c) >= 'a' && text::lower(c) <= 'z');
}

std::string check_pair(std::string_view pattern, std::string_view replacement) {
  std::string reason;
  if (auto regex = Regex::compile(pattern); !regex)
    reason = sdk::pattern_error(pattern, regex.error());
  else if (auto compiled = sdk::Replacement::compile(replacement); !compiled)
    reason = compiled.error().reason;
  if (reason.empty()) return {};
  return "invalid regex_uri (" + std::string(pattern) + ", " + std::string(replacement) + "), err:" + reason;
}

bool is_true(const Json* value) noexcept { return value != nullptr && value->IsTrue(); }

// What the client used: X-Forwarded-Proto as far as it may be believed (the core has seen to that), else the
// connection.
std::string_view client_scheme(const RequestContext& ctx) noexcept {
  const sdk::Field* forwarded = ctx.request_headers.find(sdk::FieldId::x_forwarded_proto);
  if (forwarded == nullptr) return ctx.scheme;
  return text::trim(forwarded->value.substr(0, forwarded->value.find(',')));
}

Verdict answer(RequestContext& ctx, std::uint16_t code, std::string_view location) noexcept {
  ctx.response_headers.set("Location", sdk::safe_field_value(ctx.arena, location));
  return ctx.respond(code);
}

// Ports for http_to_https: the attribute wins over the node's TLS listeners.
std::vector<int> https_ports(const sdk::CompileContext& context) {
  const Json* attributes = context.attributes("redirect");
  const Json* port = attributes == nullptr ? nullptr : find(*attributes, "https_port");
  if (port != nullptr && port->IsInt()) return {port->GetInt()};
  if (port != nullptr && port->IsString()) return {text::to_int<int>(text_of(*port)).value_or(0)};
  const auto& tls = context.host().tls_ports;
  return {tls.begin(), tls.end()};
}

}  // namespace

const schema::Table<Redirect::Config>& Redirect::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("ret_code", &Config::ret_code, integer().at_least(200).default_value(302).doc("status of the answer"))
          .field("uri", &Config::uri, string().min_length(2).doc("where to; `$name` and `${name}` are variables"))
          .field("regex_uri", &Config::regex_uri,
                 array(string()).min_items(2).max_items(2).doc("pattern over the path and its replacement"))
          .field("http_to_https", &Config::http_to_https, boolean().doc("to the same address under https"))
          .field("encode_uri", &Config::encode_uri,
                 boolean().default_value(false).doc("percent-encode the path of the target"))
          .field("append_query_string", &Config::append_query_string,
                 boolean().default_value(false).doc("append the query of the request"))
          .refine([](Node n) {
            return n.with_one_of(
                {Node().require({"uri"}), Node().require({"regex_uri"}), Node().require({"http_to_https"})});
          });
  return kTable;
}

std::string Redirect::check(const Json& conf) {
  if (const Json* pair = find(conf, "regex_uri"); pair != nullptr && pair->IsArray() && pair->Size() == 2)
    if (std::string message = check_pair(text_of((*pair)[0]), text_of((*pair)[1])); !message.empty()) return message;
  if (is_true(find(conf, "http_to_https")) && is_true(find(conf, "append_query_string")))
    return "only one of `http_to_https` and `append_query_string` can be configured.";
  return {};
}

std::vector<Redirect::Part> Redirect::parts_of(std::string_view text, sdk::CompileContext& context) {
  std::vector<Part> parts;
  std::string literal;
  for (std::size_t i = 0; i < text.size();) {
    const bool braced = i + 1 < text.size() && text[i + 1] == '{';
    const std::size_t begin = i + (braced ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() && name_char(text[end])) ++end;
    const bool escaped = i > 0 && text[i - 1] == '\\';
    const bool closed = !braced || (end < text.size() && text[end] == '}');
    if (text[i] != '$' || escaped || end == begin || !closed) {
      literal.push_back(text[i++]);
      continue;
    }
    parts.push_back({std::move(literal), context.variable(text.substr(begin, end - begin))});
    literal.clear();
    i = end + (braced ? 1 : 0);
  }
  if (!literal.empty()) parts.push_back({std::move(literal), {}});
  return parts;
}

Result<Redirect> Redirect::compile(Config config, sdk::CompileContext& context) {
  Redirect made;
  made.ret_code_ = static_cast<std::uint16_t>(std::min(config.ret_code, 999));
  made.encode_ = config.encode_uri;
  made.append_query_ = config.append_query_string;
  if (!config.uri.empty()) {
    made.way_ = Way::text;
    made.parts_ = parts_of(config.uri, context);
  } else if (config.regex_uri.size() == 2) {
    made.way_ = Way::pattern;
    auto pattern = Regex::compile(config.regex_uri[0]);
    auto replacement = sdk::Replacement::compile(config.regex_uri[1]);
    if (!pattern || !replacement) return invalid(check_pair(config.regex_uri[0], config.regex_uri[1]));
    made.pattern_ = std::move(*pattern);
    made.replacement_ = std::move(*replacement);
  } else if (config.http_to_https) {
    made.way_ = Way::https;
    made.request_uri_ = context.variable("request_uri");
    for (const int port : https_ports(context))
      made.ports_.push_back(port == kHttpsPort || port < 1 || port > 65535 ? "" : ":" + std::to_string(port));
  }
  return made;
}

Verdict Redirect::to_https(RequestContext& ctx) const noexcept {
  if (client_scheme(ctx) == "https") return Verdict::proceed();
  const std::string_view port = ports_.empty() ? std::string_view() : ports_[sdk::random_below(ports_.size())];
  const std::string_view location = ctx.arena.concat({"https://", ctx.host, port, request_uri_.get(ctx).text});
  const bool safe_to_repeat_as_get = ctx.method == "GET" || ctx.method == "HEAD";
  return answer(ctx, safe_to_repeat_as_get ? 301 : 308, location);
}

std::string_view Redirect::from_parts(RequestContext& ctx) const noexcept {
  const auto pieces = ctx.arena.array<std::string_view>(parts_.size() * 2);
  std::size_t total = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    pieces[2 * i] = parts_[i].literal;
    pieces[2 * i + 1] = parts_[i].variable.get(ctx).text;
    total += pieces[2 * i].size() + pieces[2 * i + 1].size();
  }
  char* const begin = static_cast<char*>(ctx.arena.allocate(total + 1, 1));
  char* at = begin;
  for (const std::string_view piece : pieces) {
    if (!piece.empty()) std::memcpy(at, piece.data(), piece.size());
    at += piece.size();
  }
  return {begin, total};
}

Verdict Redirect::rewrite(RequestContext& ctx) const noexcept {
  std::string_view target;
  switch (way_) {
    case Way::nothing:
      return Verdict::proceed();
    case Way::https:
      return to_https(ctx);
    case Way::text:
      target = from_parts(ctx);
      break;
    case Way::pattern: {
      Captures captures;
      if (sdk::substitute_once(pattern_, replacement_, ctx.path, ctx.arena, target, captures) != sdk::Substituted::yes)
        return Verdict::proceed();
      break;
    }
  }
  if (encode_) {
    const auto mark = target.find('?');
    const std::string_view path = sdk::escape_path(ctx.arena, target.substr(0, mark));
    target = mark == std::string_view::npos ? path : ctx.arena.concat({path, target.substr(mark)});
  }
  if (append_query_ && !ctx.query.empty()) {
    const bool has_query = target.find('?') != std::string_view::npos;
    target = ctx.arena.concat({target, has_query ? "&" : "?", ctx.query});
  }
  return answer(ctx, ret_code_, target);
}

}  // namespace sluice::plugins::redirect
