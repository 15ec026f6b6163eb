#include "admin/api/access.hpp"

#include "admin/api/answers.hpp"
#include "conf/base/constant_time.hpp"

namespace sluice::admin {

namespace {

http::Response failed(const char* reason) {
  http::Response r;
  r.status = 401;
  r.content_type = "application/json";
  r.body = std::string("{\"error_msg\":\"failed to check token\",\"description\":\"") + reason + "\"}\n";
  return r;
}

// The first place that has a token wins, even when it holds a wrong one.
std::string token_of(const http::Request& request) {
  if (auto arg = request.arg("api_key"); arg && !arg->empty()) return *arg;
  if (const auto header = request.header("X-API-KEY"); !header.empty()) return std::string(header);
  // A header name with underscores counts as the same header, as the reference takes it.
  if (const auto header = request.header("X_API_KEY"); !header.empty()) return std::string(header);
  return std::string(request.cookie("x_api_key"));
}

}  // namespace

std::optional<http::Response> refuse_address(const ApiOptions& options, const http::Request& request) {
  if (!options.allow || options.allow->contains(request.peer)) return std::nullopt;
  return http::error_page(403);
}

std::optional<http::Response> refuse_token(const ApiOptions& options, const http::Request& request) {
  if (!options.key_required || !options.keys) return std::nullopt;
  const std::string token = token_of(request);
  if (token.empty()) return failed("missing apikey");
  const AdminKey* found = nullptr;
  for (const AdminKey& entry : *options.keys) {
    const bool same = equal_constant_time(token, entry.key);
    if (same && !entry.key.empty() && found == nullptr) found = &entry;
  }
  if (found == nullptr) return failed("wrong apikey");
  if (found->role == "viewer" && request.method != "GET") return failed("invalid method for role viewer");
  return std::nullopt;
}

}  // namespace sluice::admin
