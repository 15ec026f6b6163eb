#include "plugins/response-rewrite/response_rewrite.hpp"

#include <algorithm>
#include <cstring>

#include "conf/base/log.hpp"
#include "conf/base/text.hpp"
#include "plugins/sdk/base64.hpp"
#include "plugins/sdk/inflate.hpp"

namespace sluice::plugins::response_rewrite {

using sdk::RequestContext;

namespace {

constexpr std::uint32_t kHeldTag = 1;
constexpr std::size_t kFirstRoom = 4096;

// The flags of a filter's `options`; j and o speak of compilation, which always happens once.
Result<unsigned> flags_of(std::string_view options) {
  unsigned flags = Regex::none;
  for (const char c : options) {
    switch (c) {
      case 'i':
        flags |= Regex::caseless;
        break;
      case 'm':
        flags |= Regex::multiline;
        break;
      case 's':
        flags |= Regex::dotall;
        break;
      case 'x':
        flags |= Regex::extended;
        break;
      case 'a':
        flags |= Regex::anchored;
        break;
      case 'u':
      case 'U':
        flags |= Regex::utf;
        break;
      case 'j':
      case 'o':
      case 'd':
      case 'D':
      case 'J':
        break;
      default:
        return invalid("unknown flag \"" + std::string(1, c) + "\" (flags \"" + std::string(options) + "\")");
    }
  }
  return flags;
}

std::string check_filter(const Json& filter) {
  const std::string_view pattern = text_of(*find(filter, "regex"));
  const Json* options = find(filter, "options");
  std::string reason;
  if (auto flags = flags_of(options == nullptr ? std::string_view("jo") : text_of(*options)); !flags)
    reason = flags.error().reason;
  else if (auto regex = Regex::compile(pattern, *flags); !regex)
    reason = sdk::pattern_error(pattern, regex.error());
  return reason.empty() ? reason : "regex \"" + std::string(pattern) + "\" validation failed: " + reason;
}

bool is_structured(const Json& headers) noexcept {
  for (const char* name : {"add", "set", "remove"}) {
    const Json* part = find(headers, name);
    if (part != nullptr && (part->IsObject() || part->IsArray())) return true;
  }
  return false;
}

std::string check_headers(const Json& headers) {
  const bool structured = is_structured(headers);
  const Json* fields = structured ? find(headers, "set") : &headers;
  if (fields == nullptr || !fields->IsObject()) return {};
  for (const auto& m : fields->GetObject()) {
    if (std::string message = sdk::check_field_name(text_of(m.name)); !message.empty()) return message;
    if (!m.value.IsString() && !m.value.IsNumber()) return "invalid type as header value";
  }
  return {};
}

schema::Node headers_node() {
  using namespace schema;
  const Node flat = object().min_properties(1).pattern_property("^[^:]+$", one_of({string(), number()}));
  const Node structured =
      Node()
          .property("add",
                    array(string().pattern("^[^:]+:[^:]*[^/]$")).min_items(1).doc("fields to append, `Name: value`"))
          .property("set", flat.doc("fields that replace those of the same name"))
          .property("remove", array(string().pattern("^[^:]+$")).min_items(1).doc("names of fields to drop"));
  return any_of({flat, structured});
}

}  // namespace

struct ResponseRewrite::Held {
  char* data = nullptr;
  std::size_t size = 0;
  std::size_t room = 0;
  std::size_t expected = 0;  // Content-Length of the answer, 0 when unknown
  sdk::Coding coding = sdk::Coding::identity;
  bool replaced = false;  // `body` has been sent
};

const schema::Table<ResponseRewrite::Config>& ResponseRewrite::table() {
  using namespace schema;
  static const auto kFilter =
      schema::table<FilterConfig>()
          .field("regex", &FilterConfig::regex, string().min_length(1).doc("pattern"), required)
          .field("scope", &FilterConfig::scope,
                 string().one_of_values({"once", "global"}).default_value("once").doc("first match or all"))
          .field("replace", &FilterConfig::replace, string().doc("replacement, `$1` are groups"), required)
          .field("options", &FilterConfig::options, string().default_value("jo").doc("flags of the pattern"));
  static const auto kTable =
      schema::table<Config>()
          .field("headers", &Config::headers,
                 headers_node().doc("flat map (set), or add, set and remove; values are templates"))
          .field("body", &Config::body, string().doc("new body; excludes filters"))
          .field("body_base64", &Config::body_base64, boolean().default_value(false).doc("body is base64"))
          .field("status_code", &Config::status_code, integer().at_least(200).at_most(598).doc("new status"))
          .field("vars", &Config::vars, array().doc("condition; where it does not hold nothing happens"))
          .field("filters", &Config::filters, kFilter, schema::optional,
                 [](Node n) { return n.min_items(1).doc("replacements in the body, in order; excludes body"); })
          .field(
              "max_resp_body_size", &Config::max_resp_body_size,
              integer().at_least(1).default_value(67108864).doc("bytes of body that filters see; the rest is cut off"))
          .refine([](Node n) {
            return n.depends("body", negate(Node().require({"filters"})))
                .depends("filters", negate(Node().require({"body"})));
          });
  return kTable;
}

std::string ResponseRewrite::check(const Json& conf) {
  if (const Json* flag = find(conf, "body_base64"); flag != nullptr && flag->IsTrue()) {
    const Json* body = find(conf, "body");
    if (body == nullptr || text_of(*body).empty() || !sdk::base64_decode(text_of(*body)))
      return "invalid base64 content";
  }
  if (const Json* vars = find(conf, "vars"))
    if (auto compiled = sdk::Expression::compile(*vars); !compiled)
      return "failed to validate the 'vars' expression: " + compiled.error().reason;
  if (const Json* filters = find(conf, "filters"); filters != nullptr && filters->IsArray())
    for (const auto& filter : filters->GetArray())
      if (std::string message = check_filter(filter); !message.empty()) return message;
  const Json* headers = find(conf, "headers");
  return headers == nullptr ? std::string() : check_headers(*headers);
}

Result<ResponseRewrite> ResponseRewrite::compile(Config config, sdk::CompileContext& context) {
  ResponseRewrite made;
  made.status_ = static_cast<std::uint16_t>(config.status_code);
  made.max_body_ = config.max_resp_body_size;
  if (config.vars) {
    auto vars = sdk::Expression::compile(config.vars.get());
    if (!vars) return invalid("failed to validate the 'vars' expression: " + vars.error().reason);
    if (vars->needs_request_body()) context.require_request_body();
    made.vars_ = std::move(*vars);
  }
  if (config.body) {
    auto decoded = config.body_base64 ? sdk::base64_decode(*config.body) : config.body;
    if (!decoded) return invalid("invalid base64 content");
    made.body_ = std::move(decoded);
  }
  for (const FilterConfig& f : config.filters) {
    auto flags = flags_of(f.options);
    if (!flags) return flags.error();
    auto pattern = Regex::compile(f.regex, *flags);
    if (!pattern) return invalid(sdk::pattern_error(f.regex, pattern.error()));
    auto replacement = sdk::Replacement::compile(f.replace);
    if (!replacement) {  // the reference takes such a filter and never applies it
      log::warn("response-rewrite of " + context.resource_key() + ": the filter \"" + f.regex + "\" is left out, " +
                replacement.error().reason + ": " + f.replace);
      continue;
    }
    made.filters_.push_back({std::move(*pattern), std::move(*replacement), f.scope == "global"});
  }
  if (config.headers) made.compile_headers(config.headers.get(), context);
  return made;
}

void ResponseRewrite::compile_headers(const Json& headers, sdk::CompileContext& context) {
  if (!is_structured(headers)) {
    set_ = sdk::field_templates(headers, context);
    return;
  }
  if (const Json* add = find(headers, "add"); add != nullptr && add->IsArray()) {
    for (const auto& item : add->GetArray()) {
      const std::string_view line = text_of(item);
      const auto colon = line.find(':');
      const std::string_view name = text::trim(line.substr(0, colon));
      const std::string_view value = colon == std::string_view::npos ? "" : text::trim(line.substr(colon + 1));
      if (!sdk::check_field_name(name).empty() || value.empty()) {
        log::warn("response-rewrite of " + context.resource_key() +
                  ": no header is changed, not a header line: " + std::string(line));
        add_.clear();
        return;
      }
      add_.push_back({std::string(name), sdk::classify_field(name), context.text(value)});
    }
  }
  if (const Json* set = find(headers, "set")) set_ = sdk::field_templates(*set, context);
  if (const Json* remove = find(headers, "remove"); remove != nullptr && remove->IsArray())
    for (const auto& name : remove->GetArray()) remove_.emplace_back(text_of(name));
}

sdk::BodyNeeds ResponseRewrite::body_needs() const noexcept {
  return {.alters_length = body_.has_value() || !filters_.empty()};
}

void ResponseRewrite::edit_headers(RequestContext& ctx) const noexcept {
  for (const auto& field : add_)
    if (const auto value = field.text(ctx); !value.empty()) ctx.response_headers.add(field.name, value);
  for (const auto& field : set_) {
    const auto value = field.text(ctx);
    if (value.empty())
      ctx.response_headers.remove(field.name);
    else
      ctx.response_headers.set(field.name, value);
  }
  for (const auto& name : remove_) ctx.response_headers.remove(name);
}

void ResponseRewrite::header_filter(RequestContext& ctx) const noexcept {
  if (!vars_.always() && vars_.evaluate(ctx) != sdk::Expression::Outcome::yes) return;
  Held* const held = ctx.arena.make<Held>();
  ctx.note_or_add(this, kHeldTag) = reinterpret_cast<std::uintptr_t>(held);
  if (status_ != 0) ctx.status = status_;
  if (body_ || !filters_.empty()) {
    if (const auto coding = ctx.response_headers.get("content-encoding")) held->coding = sdk::coding_of(*coding);
    if (const sdk::Field* length = ctx.response_headers.find(sdk::FieldId::content_length))
      held->expected = text::to_int<std::size_t>(length->value).value_or(0);
    sdk::forget_body_fields(ctx.response_headers);
    ctx.response_body_replaced = true;
  }
  edit_headers(ctx);
}

void ResponseRewrite::hold(RequestContext& ctx, Held& held, std::string_view octets) const noexcept {
  octets = octets.substr(0, max_body_ - held.size);
  if (octets.empty()) return;
  if (octets.size() > held.room - held.size) {
    const std::size_t needed = held.size + octets.size();
    held.room = std::min(max_body_, std::max({needed, held.room * 2, held.expected, kFirstRoom}));
    char* const bigger = static_cast<char*>(ctx.arena.allocate(held.room, 1));
    if (held.size > 0) std::memcpy(bigger, held.data, held.size);
    held.data = bigger;
    held.expected = 0;  // a wrong promise is believed once
  }
  std::memcpy(held.data + held.size, octets.data(), octets.size());
  held.size += octets.size();
}

std::string_view ResponseRewrite::filtered(RequestContext& ctx, const Held& held) const noexcept {
  std::string_view text(held.data == nullptr ? "" : held.data, held.size);
  if (held.coding == sdk::Coding::unknown) {
    log::error("response-rewrite: filters may not work as expected due to unsupported compression encoding type");
    return text;
  }
  if (held.coding != sdk::Coding::identity) text = sdk::inflate(ctx.arena, held.coding, text, max_body_);
  for (const Filter& filter : filters_) {
    std::string_view next;
    Captures captures;
    const auto done = filter.everywhere
                          ? sdk::substitute_all(filter.pattern, filter.replacement, text, ctx.arena, next)
                          : sdk::substitute_once(filter.pattern, filter.replacement, text, ctx.arena, next, captures);
    if (done == sdk::Substituted::yes) text = next;
    if (done == sdk::Substituted::failed)
      log::error("response-rewrite: a filter ran into the limits of the regex engine");
  }
  return text;
}

void ResponseRewrite::body_filter(RequestContext& ctx, const sdk::BodyChunk& chunk,
                                  sdk::BodySink& sink) const noexcept {
  const std::uint64_t* note = ctx.note(this, kHeldTag);
  if (note == nullptr || (!body_ && filters_.empty())) {
    sink.write(chunk.octets);
    return;
  }
  Held& held = *reinterpret_cast<Held*>(static_cast<std::uintptr_t>(*note));
  if (body_) {
    if (!held.replaced) sink.write(*body_);
    held.replaced = true;
    return;
  }
  hold(ctx, held, chunk.octets);
  if (chunk.last) sink.write(filtered(ctx, held));
}

}  // namespace sluice::plugins::response_rewrite
