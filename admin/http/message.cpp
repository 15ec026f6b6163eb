#include "admin/http/message.hpp"

#include <optional>

#include "conf/base/text.hpp"

namespace sluice::admin::http {

std::string_view Request::header(std::string_view name) const noexcept {
  for (const auto& [n, v] : headers)
    if (text::iequal(n, name)) return v;
  return {};
}

bool Request::has_header(std::string_view name) const noexcept {
  for (const auto& [n, v] : headers)
    if (text::iequal(n, name)) return true;
  return false;
}

std::optional<std::string> Request::arg(std::string_view name) const {
  if (query.empty()) return std::nullopt;
  for (std::string_view part : text::split(query, '&')) {
    const auto eq = part.find('=');
    if (text::percent_decode(part.substr(0, eq), true) != name) continue;
    return eq == std::string_view::npos ? std::string() : text::percent_decode(part.substr(eq + 1), true);
  }
  return std::nullopt;
}

std::string_view Request::cookie(std::string_view name) const noexcept {
  for (const auto& [n, v] : headers) {
    if (!text::iequal(n, "cookie")) continue;
    std::string_view rest = v;
    while (!rest.empty()) {
      const auto end = rest.find(';');
      const std::string_view pair = text::trim(rest.substr(0, end));
      const auto eq = pair.find('=');
      if (eq != std::string_view::npos && pair.substr(0, eq) == name) return pair.substr(eq + 1);
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
  }
  return {};
}

std::string_view reason_of(unsigned status) noexcept {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Request Entity Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Answer";
  }
}

Response error_page(unsigned status) {
  Response r;
  r.status = status;
  r.content_type = "text/html";
  const std::string title = std::to_string(status) + " " + std::string(reason_of(status));
  r.body = "<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title +
           "</h1></center>\r\n<hr><center>sluice</center>\r\n</body>\r\n</html>\r\n";
  return r;
}

}  // namespace sluice::admin::http
