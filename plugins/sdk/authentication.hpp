// What authentication plugins share: the answer to a failure, and the consumer that takes over instead.
//
// Every 401 carries WWW-Authenticate. With `anonymous_consumer` no failure is answered: that consumer is attached, and
// only when it does not exist the request ends.
#pragma once

#include <string>
#include <string_view>

#include "conf/schema/schema.hpp"
#include "plugins/sdk/request_context.hpp"

namespace sluice::sdk {

class Challenge {
 public:
  Challenge() = default;
  // scheme "apikey", realm "key": `apikey realm="key"`.
  Challenge(std::string_view scheme, std::string_view realm, std::string anonymous_consumer);

  bool has_anonymous() const noexcept { return !anonymous_.empty(); }

  // The consequence of a failed authentication: `body` (a JSON line) with 401, or the anonymous consumer.
  Verdict fail(RequestContext& ctx, std::string_view body) const noexcept;
  // A 401 without regard to the anonymous consumer.
  Verdict refuse(RequestContext& ctx, std::string_view body) const noexcept;

 private:
  std::string header_;
  std::string anonymous_;
};

schema::Node realm_field(std::string_view default_realm);
schema::Node anonymous_consumer_field();
// The titles that clients of the Admin API find in the published schemas.
schema::Node titled_route_side(schema::Node node);
schema::Node titled_consumer_side(schema::Node node);

// Takes a query argument out of what goes upstream and out of what later plugins see.
void hide_argument(RequestContext& ctx, std::string_view name) noexcept;
// Takes a cookie out of the request's Cookie fields.
void hide_cookie(RequestContext& ctx, std::string_view name) noexcept;

// Attaches who was found; texts that must outlive a change of the consumers go to the arena.
void attach(RequestContext& ctx, const Identity& identity) noexcept;

}  // namespace sluice::sdk
