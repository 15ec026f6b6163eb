// Request and answer as the admin process's listeners see them: plain values, no Beast.
//
// Shared by the Admin API, the control API, the status listener and the metrics listener.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/base/cidr.hpp"

namespace sluice::admin::http {

struct Request {
  std::string method;
  std::string target;                                        // as sent
  std::string path;                                          // target without the query, not decoded
  std::string query;                                         // without '?'
  std::vector<std::pair<std::string, std::string>> headers;  // names as sent
  std::string body;
  std::uint64_t oversize = 0;  // not 0: the body had this many octets, over the limit, and was dropped
  IpAddress peer;

  // First header of that name (case-insensitive) or an empty view.
  std::string_view header(std::string_view name) const noexcept;
  bool has_header(std::string_view name) const noexcept;
  // First query argument of that name, percent-decoded; nothing when absent. An argument without '=' is empty.
  std::optional<std::string> arg(std::string_view name) const;
  // A cookie's value, or an empty view.
  std::string_view cookie(std::string_view name) const noexcept;
};

struct Response {
  unsigned status = 200;
  std::string content_type;  // empty: none is sent
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool close = false;

  Response& with(std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
    return *this;
  }
};

// Called exactly once per request, on the thread of the io_context, at once or later.
using Respond = std::function<void(Response)>;
using Handler = std::function<void(const std::shared_ptr<const Request>&, Respond)>;

std::string_view reason_of(unsigned status) noexcept;
// The plain error page for answers without a body of their own, as text/html.
Response error_page(unsigned status);

}  // namespace sluice::admin::http
