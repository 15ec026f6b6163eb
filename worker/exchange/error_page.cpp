// The stock error page, reason phrases, and the Date field's text.
#include <charconv>
#include <cstdio>
#include <ctime>

#include "worker/exchange/exchange.hpp"

namespace sluice::worker {

std::string_view reason_of(std::uint16_t status) noexcept {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 102: return "Processing";
    case 103: return "Early Hints";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 203: return "Non-Authoritative Information";
    case 204: return "No Content";
    case 205: return "Reset Content";
    case 206: return "Partial Content";
    case 207: return "Multi-Status";
    case 300: return "Multiple Choices";
    case 301: return "Moved Permanently";
    case 302: return "Moved Temporarily";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Not Allowed";
    case 406: return "Not Acceptable";
    case 407: return "Proxy Authentication Required";
    case 408: return "Request Time-out";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Request Entity Too Large";
    case 414: return "Request-URI Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Requested Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Entity";
    case 425: return "Too Early";
    case 426: return "Upgrade Required";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 451: return "Unavailable For Legal Reasons";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Temporarily Unavailable";
    case 504: return "Gateway Time-out";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    case 508: return "Loop Detected";
    case 511: return "Network Authentication Required";
    default: return "";
  }
}

std::string_view error_page(std::uint16_t status, sdk::Arena& arena) noexcept {
  char digits[8];
  const auto end = std::to_chars(digits, digits + sizeof digits, status).ptr;
  const std::string_view number(digits, static_cast<std::size_t>(end - digits));
  const std::string_view reason = reason_of(status);
  const std::string_view title = reason.empty() ? arena.copy(number) : arena.concat({number, " ", reason});
  return arena.concat({"<html>\r\n<head><title>", title, "</title></head>\r\n<body>\r\n<center><h1>", title,
                       "</h1></center>\r\n<hr><center>sluice</center>\r\n</body>\r\n</html>\r\n"});
}

std::string_view http_date(WallTime now) noexcept {
  static thread_local std::time_t cached = -1;
  static thread_local char text[32];
  const std::time_t second = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(now));
  if (second != cached) {
    static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::tm parts{};
    ::gmtime_r(&second, &parts);
    std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", kDays[parts.tm_wday % 7],
                  parts.tm_mday % 100, kMonths[parts.tm_mon % 12], (parts.tm_year + 1900) % 10000, parts.tm_hour % 100,
                  parts.tm_min % 100, parts.tm_sec % 100);
    cached = second;
  }
  return {text, 29};
}

bool idempotent(std::string_view method) noexcept {
  for (const std::string_view safe : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"})
    if (method == safe) return true;
  return false;
}

std::string_view name_of(Refusal refusal) noexcept {
  static constexpr std::string_view kNames[] = {
      "bad_head",       "bad_target", "bad_host",       "bad_framing",  "head_too_large", "bad_version", "bad_method",
      "body_too_large", "bad_body",   "header_timeout", "body_timeout", "bad_answer",     "cut_answer"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Refusal::kCount));
  return kNames[static_cast<std::size_t>(refusal)];
}

}  // namespace sluice::worker
