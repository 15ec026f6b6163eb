// The head of a request: parsed in place, with views into the connection's head buffer.
//
// The syntax is read by a parser derived from beast::http::basic_parser; what the RFC leaves to the server, and every
// door that request smuggling uses, is decided here: one framing, one valid Host, no folded lines, no blank before a
// colon, no bare CR or LF, no NUL, one form of target. The buffer must not move while the views live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugins/sdk/headers.hpp"

namespace sluice::worker {

struct HeadLimits {
  std::size_t request_line = 8192;
  std::size_t head = 32768;
  std::size_t fields = 100;
};

enum class BodyFraming : std::uint8_t { none, length, chunked, until_close };

enum class TargetForm : std::uint8_t { origin, absolute, asterisk };

// Why a head is refused: the text of metrics and of the log line.
enum class HeadFault : std::uint8_t {
  none,
  need_more,       // not a fault: the head is not complete
  malformed,       // 400
  bad_target,      // 400
  bad_host,        // 400
  bad_length,      // 400
  bad_encoding,    // 400: a framing we refuse
  unknown_coding,  // 501
  line_too_long,   // 414
  head_too_large,  // 431
  bad_version,     // 505
  tunnel,          // 405: CONNECT and TRACE
};
std::uint16_t status_of(HeadFault fault) noexcept;
std::string_view text_of(HeadFault fault) noexcept;

struct RequestHead {
  std::string_view line;       // without CRLF
  std::string_view method;
  std::string_view target;     // as received
  std::string_view path_query; // what goes upstream: origin form (also of an absolute target), or "*"
  std::string_view authority;  // Host, or the authority of an absolute target
  std::string_view host;       // of the authority, without port and as sent
  std::uint16_t port = 0;      // of the authority; 0: none given
  TargetForm form = TargetForm::origin;
  int minor = 1;               // HTTP/1.x
  std::size_t size = 0;        // octets of the head, blank line included
  BodyFraming framing = BodyFraming::none;
  std::uint64_t length = 0;    // framing length
  bool close = false;          // the client wants the connection closed after the answer
  bool expects_continue = false;
  bool expects_unknown = false;  // an expectation that is not 100-continue
  bool wants_upgrade = false;  // Upgrade with Connection: upgrade, on HTTP/1.1
  bool names_fields = false;   // Connection names fields besides close, keep-alive, upgrade
  bool odd_names = false;      // some field name has an underscore
  std::string_view upgrade;    // value of Upgrade
};

// Reads one head from the front of `octets` into `head` and `fields` (cleared first). `fresh_from`: octets before it
// were there at the last attempt, which ended in need_more; 0 at the first attempt.
HeadFault parse_request_head(std::string_view octets, std::size_t fresh_from, const HeadLimits& limits,
                             sdk::HeaderList& fields, RequestHead& head) noexcept;

// True when `token` is an element of the comma-separated list (case-insensitive).
bool list_has(std::string_view list, std::string_view token) noexcept;
// Calls fn(element) for each non-empty element, blanks trimmed.
template <class F>
void for_each_element(std::string_view list, F&& fn) noexcept {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view part = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (!part.empty() && (part.front() == ' ' || part.front() == '\t')) part.remove_prefix(1);
    while (!part.empty() && (part.back() == ' ' || part.back() == '\t')) part.remove_suffix(1);
    if (!part.empty()) fn(part);
  }
}
// A decimal number without sign or blank, at most 2^63 - 1; false otherwise.
bool parse_length(std::string_view text, std::uint64_t& value) noexcept;

}  // namespace sluice::worker
