// The functions behind the names of variable.cpp. Private to plugins/sdk/variable*.cpp.
//
// A getter takes the prepared argument of its variable (for plain names: unused). It computes from the context; what is
// costly (a parsed body) is kept in the request's VariableCache.
#pragma once

#include <string_view>

#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::sdk {

struct JsonBody;
struct GraphqlFacts;

// In the arena of the request, made on first use.
struct VariableCache {
  enum class State : unsigned char { unknown, absent, present };
  State json_state = State::unknown;
  const JsonBody* json = nullptr;
  State graphql_state = State::unknown;
  const GraphqlFacts* graphql = nullptr;
};

inline VariableCache& cache_of(RequestContext& ctx) noexcept {
  if (ctx.variable_cache == nullptr) ctx.variable_cache = ctx.arena.make<VariableCache>();
  return *ctx.variable_cache;
}

const VariableLimits& variable_limits() noexcept;

namespace getters {

// variable_request.cpp
Value arg(RequestContext&, std::string_view name) noexcept;
Value cookie(RequestContext&, std::string_view name) noexcept;
Value http(RequestContext&, std::string_view name) noexcept;          // name: lower case, '_' for '-'
Value http_trusted(RequestContext&, std::string_view name) noexcept;  // names that '_' must not spell
Value sent_http(RequestContext&, std::string_view name) noexcept;
Value upstream_http(RequestContext&, std::string_view name) noexcept;
Value uri_param(RequestContext&, std::string_view name) noexcept;
Value form_field(RequestContext&, std::string_view name) noexcept;    // post_arg_
Value remote_user(RequestContext&, std::string_view) noexcept;
Value forwarded_for(RequestContext&, std::string_view) noexcept;

// variable_body.cpp
Value post_arg_path(RequestContext&, std::string_view path) noexcept;
// Where a JSONPath stops being one: the rest from there; empty when it is fine.
std::string_view json_path_fault(std::string_view path) noexcept;

// variable_graphql.cpp
Value graphql_operation(RequestContext&, std::string_view) noexcept;
Value graphql_name(RequestContext&, std::string_view) noexcept;
Value graphql_root_fields(RequestContext&, std::string_view) noexcept;

// variable_upstream.cpp
Value upstream_addr(RequestContext&, std::string_view) noexcept;
Value upstream_status(RequestContext&, std::string_view) noexcept;
Value upstream_response_time(RequestContext&, std::string_view) noexcept;
Value upstream_connect_time(RequestContext&, std::string_view) noexcept;
Value upstream_header_time(RequestContext&, std::string_view) noexcept;
Value upstream_response_length(RequestContext&, std::string_view) noexcept;
Value upstream_bytes_sent(RequestContext&, std::string_view) noexcept;
Value upstream_bytes_received(RequestContext&, std::string_view) noexcept;

// variable_time.cpp
Value request_time(RequestContext&, std::string_view) noexcept;
Value time_local(RequestContext&, std::string_view) noexcept;
Value time_iso8601(RequestContext&, std::string_view) noexcept;
Value msec(RequestContext&, std::string_view) noexcept;

}  // namespace getters

// ---- helpers shared by the getters
// First value of `name` in `a=1&b=2`; an argument without '=' is boolean true when `bare_is_true`, else empty text.
Value find_pair(RequestContext& ctx, std::string_view pairs, std::string_view name, bool bare_is_true) noexcept;
std::string_view decode_component(Arena& arena, std::string_view text) noexcept;  // %XX and '+'; a view when nothing to do
std::string_view decimal(Arena& arena, std::uint64_t n) noexcept;
std::string_view seconds_text(Arena& arena, std::int64_t ns) noexcept;            // "0.005", never negative
Value text_or_absent(std::string_view text) noexcept;

}  // namespace sluice::sdk
