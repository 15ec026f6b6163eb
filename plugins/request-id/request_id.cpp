#include "plugins/request-id/request_id.hpp"

#include <algorithm>

#include "plugins/request-id/identifiers.hpp"
#include "plugins/sdk/field_text.hpp"

namespace sluice::plugins::request_id {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

constexpr std::uint32_t kIdTag = 1;

// What make_ points to for the forms that need no settings.
template <std::string_view (*Make)(RequestContext&) noexcept>
std::string_view plain(const RequestId&, RequestContext& ctx) noexcept {
  return Make(ctx);
}

}  // namespace

const schema::Table<RequestId::Config>& RequestId::table() {
  using namespace schema;
  static const auto kRange =
      schema::table<RangeConfig>()
          .field("length", &RangeConfig::length,
                 integer().at_least(6).default_value(16).doc("characters of a range_id"))
          .field("char_set", &RangeConfig::char_set,
                 string().min_length(6).default_value(RangeConfig().char_set).doc("what a range_id is drawn from"));
  static const auto kTable =
      schema::table<Config>()
          .field("header_name", &Config::header_name,
                 string().default_value("X-Request-Id").doc("field that carries the identifier"))
          .field("include_in_response", &Config::include_in_response,
                 boolean().default_value(true).doc("also in the answer, where the upstream has not set it"))
          .field("algorithm", &Config::algorithm,
                 string()
                     .one_of_values({"uuid", "nanoid", "range_id", "ksuid", "uuidv7"})
                     .default_value("uuid")
                     .doc("form of new identifiers"))
          .field("range_id", &Config::range_id, kRange, schema::optional,
                 [](Node n) { return n.default_json("{}").doc("settings of range_id"); });
  return kTable;
}

std::string RequestId::check(const Json& conf) {
  const Json* range = find(conf, "range_id");
  const Json* set = range == nullptr ? nullptr : find(*range, "char_set");
  for (const char c : set == nullptr ? std::string_view() : text_of(*set))
    if (c <= 32 || c == 127) return "range_id.char_set holds a character that a header value must not have";
  const Json* name = find(conf, "header_name");
  return name == nullptr ? std::string() : sdk::check_field_name(text_of(*name));
}

std::string_view RequestId::make_range(const RequestId& self, RequestContext& ctx) noexcept {
  return request_id::make_range(ctx, self.range_set_, self.range_length_);
}

Result<RequestId> RequestId::compile(Config config, sdk::CompileContext&) {
  constexpr std::uint32_t kLongest = 4096;  // a header field that peers still take
  RequestId made;
  made.header_ = std::move(config.header_name);
  made.in_response_ = config.include_in_response;
  made.range_length_ = std::min(config.range_id.length, kLongest);
  made.range_set_ = std::move(config.range_id.char_set);
  if (config.algorithm == "uuidv7")
    made.make_ = &plain<&make_uuidv7>;
  else if (config.algorithm == "nanoid")
    made.make_ = &plain<&make_nanoid>;
  else if (config.algorithm == "ksuid")
    made.make_ = &plain<&make_ksuid>;
  else if (config.algorithm == "range_id")
    made.make_ = &make_range;
  else
    made.make_ = &plain<&make_uuid>;
  return made;
}

Verdict RequestId::rewrite(RequestContext& ctx) const noexcept {
  const auto given = ctx.request_headers.get(header_);
  std::string_view id = given.value_or(std::string_view());
  if (id.empty()) {
    id = make_(*this, ctx);
    ctx.request_headers.set(header_, id);
  }
  ctx.apisix_request_id = id;
  if (in_response_) {
    auto* kept = ctx.arena.make<std::string_view>(id);
    ctx.note_or_add(this, kIdTag) = reinterpret_cast<std::uintptr_t>(kept);
  }
  return Verdict::proceed();
}

void RequestId::header_filter(RequestContext& ctx) const noexcept {
  const std::uint64_t* note = in_response_ ? ctx.note(this, kIdTag) : nullptr;
  if (note == nullptr) return;
  const auto there = ctx.response_headers.get(header_);
  if (there && !there->empty()) return;
  ctx.response_headers.set(header_, *reinterpret_cast<const std::string_view*>(static_cast<std::uintptr_t>(*note)));
}

}  // namespace sluice::plugins::request_id
