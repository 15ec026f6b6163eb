// Who may use the Admin API: address filter, token, role.
#pragma once

#include <optional>

#include "admin/api/options.hpp"
#include "admin/http/message.hpp"

namespace sluice::admin {

// The refusal, or nothing. Address first (403, HTML), then token (401). Tokens are compared in constant time and all
// entries are always walked.
std::optional<http::Response> refuse_address(const ApiOptions& options, const http::Request& request);
std::optional<http::Response> refuse_token(const ApiOptions& options, const http::Request& request);

}  // namespace sluice::admin
