#include "worker/http1/request_head.hpp"

#include <array>
#include <charconv>

#include "worker/http1/beast_parser.hpp"

namespace sluice::worker {

std::uint16_t status_of(HeadFault fault) noexcept {
  switch (fault) {
    case HeadFault::unknown_coding: return 501;
    case HeadFault::line_too_long: return 414;
    case HeadFault::head_too_large: return 431;
    case HeadFault::bad_version: return 505;
    case HeadFault::tunnel: return 405;
    default: return 400;
  }
}

std::string_view text_of(HeadFault fault) noexcept {
  switch (fault) {
    case HeadFault::none: return "none";
    case HeadFault::need_more: return "incomplete head";
    case HeadFault::malformed: return "malformed head";
    case HeadFault::bad_target: return "invalid request target";
    case HeadFault::bad_host: return "missing, repeated or invalid Host";
    case HeadFault::bad_length: return "invalid Content-Length";
    case HeadFault::bad_encoding: return "ambiguous framing";
    case HeadFault::unknown_coding: return "unknown transfer coding";
    case HeadFault::line_too_long: return "request line too long";
    case HeadFault::head_too_large: return "head too large";
    case HeadFault::bad_version: return "HTTP version not supported";
    case HeadFault::tunnel: return "method not allowed";
  }
  return "";
}

bool list_has(std::string_view list, std::string_view token) noexcept {
  bool found = false;
  for_each_element(list, [&](std::string_view element) { found = found || sdk::same_field(element, token); });
  return found;
}

bool parse_length(std::string_view text, std::uint64_t& value) noexcept {
  if (text.empty() || text.size() > 19) return false;
  for (const char c : text)
    if (c < '0' || c > '9') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value <= ~std::uint64_t{0} / 2;
}

namespace {

// Octets of a registered name or an IPv4 address: unreserved, percent and sub-delims but the comma.
constexpr auto kHostOctets = [] {
  std::array<bool, 256> t{};
  for (int c = '0'; c <= '9'; ++c) t[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) t[static_cast<std::size_t>(c)] = t[static_cast<std::size_t>(c - 32)] = true;
  for (const char c : {'-', '.', '_', '~', '%', '!', '$', '&', '\'', '(', ')', '*', '+', ';', '='})
    t[static_cast<unsigned char>(c)] = true;
  return t;
}();

bool read_port(std::string_view text, std::uint16_t& port) noexcept {
  port = 0;
  if (text.empty()) return true;  // "host:" names the default port
  if (text.size() > 5) return false;
  unsigned value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  port = static_cast<std::uint16_t>(value);
  return value <= 65535;
}

bool read_authority(std::string_view text, RequestHead& head) noexcept {
  head.authority = text;
  if (text.empty()) return false;
  std::size_t host_end;
  if (text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || close < 3) return false;
    for (const char c : text.substr(1, close - 1)) {
      const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!hex && c != ':' && c != '.') return false;
    }
    host_end = close + 1;
    if (host_end < text.size() && text[host_end] != ':') return false;
  } else {
    host_end = text.find(':');
    if (host_end == std::string_view::npos) host_end = text.size();
    if (host_end == 0) return false;
    for (const char c : text.substr(0, host_end))
      if (!kHostOctets[static_cast<unsigned char>(c)]) return false;
  }
  head.host = text.substr(0, host_end);
  return host_end == text.size() || read_port(text.substr(host_end + 1), head.port);
}

bool clean_target(std::string_view target) noexcept {
  for (const char c : target) {
    const auto b = static_cast<unsigned char>(c);
    if (b <= 0x20 || b == 0x7f || b == '#') return false;
  }
  return true;
}

std::size_t scheme_length(std::string_view target) noexcept {
  if (target.size() > 7 && sdk::same_field(target.substr(0, 7), "http://")) return 7;
  if (target.size() > 8 && sdk::same_field(target.substr(0, 8), "https://")) return 8;
  return 0;
}

// Which form the target has; of an absolute one the authority takes the place of Host.
HeadFault read_target(RequestHead& head, std::string_view host_field, unsigned hosts) noexcept {
  const std::string_view target = head.target;
  if (!clean_target(target)) return HeadFault::bad_target;
  if (target.front() == '/') {
    head.form = TargetForm::origin;
    head.path_query = target;
  } else if (target == "*") {
    if (head.method != "OPTIONS") return HeadFault::bad_target;
    head.form = TargetForm::asterisk;
    head.path_query = target;
  } else if (const std::size_t scheme = scheme_length(target)) {
    head.form = TargetForm::absolute;
    const std::size_t end = target.find_first_of("/?", scheme);
    const std::string_view authority = target.substr(scheme, end == std::string_view::npos ? end : end - scheme);
    head.path_query = end == std::string_view::npos ? std::string_view() : target.substr(end);
    if (head.path_query.empty()) head.path_query = head.method == "OPTIONS" ? "*" : "/";
    RequestHead unused;
    if (hosts == 1 && !read_authority(host_field, unused)) return HeadFault::bad_host;
    return read_authority(authority, head) ? HeadFault::none : HeadFault::bad_target;
  } else {
    return HeadFault::bad_target;
  }
  if (hosts == 0) return HeadFault::none;  // HTTP/1.0 only, see below
  return read_authority(host_field, head) ? HeadFault::none : HeadFault::bad_host;
}

HeadFault read_framing(const detail::FramingMarks& marks, RequestHead& head) noexcept {
  if (marks.encodings != 0) {
    if (marks.encodings > 1 || marks.lengths != 0 || head.minor == 0) return HeadFault::bad_encoding;
    if (sdk::same_field(marks.encoding, "chunked")) {
      head.framing = BodyFraming::chunked;
      return HeadFault::none;
    }
    // A plain list of other codings is something we do not know; anything else is not a list of codings at all.
    for (const char c : marks.encoding) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ',' ||
                         c == ' ' || c == '-';
      if (!plain) return HeadFault::bad_encoding;
    }
    return list_has(marks.encoding, "chunked") || marks.encoding.empty() ? HeadFault::bad_encoding
                                                                         : HeadFault::unknown_coding;
  }
  if (marks.lengths == 0) return HeadFault::none;
  if (marks.lengths > 1 || !parse_length(marks.length, head.length)) return HeadFault::bad_length;
  head.framing = head.length == 0 ? BodyFraming::none : BodyFraming::length;
  return HeadFault::none;
}

// Beast says what is wrong only roughly; the version is told apart because it has a status of its own.
HeadFault fault_of(std::string_view octets, const detail::HeadParser<true>& parser, const detail::Code& error) noexcept {
  namespace http = boost::beast::http;
  if (parser.folded) return HeadFault::malformed;
  if (parser.too_many || error == http::error::header_limit) return HeadFault::head_too_large;
  if (error == http::error::bad_content_length || error == http::error::multiple_content_length)
    return HeadFault::bad_length;
  if (error == http::error::bad_transfer_encoding) return HeadFault::bad_encoding;
  if (error == http::error::bad_version) {
    const std::string_view line = octets.substr(0, octets.find("\r\n"));
    const std::size_t at = line.rfind(" HTTP/");
    if (at != std::string_view::npos && line.size() == at + 9 && line[at + 7] == '.' && line[at + 6] >= '0' &&
        line[at + 6] <= '9' && line[at + 8] >= '0' && line[at + 8] <= '9')
      return HeadFault::bad_version;
  }
  return HeadFault::malformed;
}

}  // namespace

HeadFault parse_request_head(std::string_view octets, std::size_t fresh_from, const HeadLimits& limits,
                             sdk::HeaderList& fields, RequestHead& head) noexcept {
  std::size_t skipped = 0;  // empty lines before a request line are forgiven, a few of them
  while (skipped < 8 && octets.substr(skipped, 2) == "\r\n") skipped += 2;
  const std::string_view all = octets.substr(skipped);
  if (all.empty() || all == "\r") return HeadFault::need_more;
  if (!detail::worth_parsing(octets, fresh_from)) {
    if (all.size() > limits.request_line && all.find('\n') == std::string_view::npos) return HeadFault::line_too_long;
    return all.size() > limits.head ? HeadFault::head_too_large : HeadFault::need_more;
  }
  const std::size_t first_end = all.substr(0, limits.request_line + 2).find('\n');
  if (first_end == std::string_view::npos && all.size() >= limits.request_line + 2) return HeadFault::line_too_long;

  detail::HeadParser<true> parser(all, limits.fields, fields);
  parser.header_limit(static_cast<std::uint32_t>(limits.head));
  parser.skip(true);  // framing is decided here
  detail::Code error;
  const std::size_t consumed = parser.put(boost::asio::const_buffer(all.data(), all.size()), error);
  if (error) {
    if (error != boost::beast::http::error::need_more) return fault_of(all, parser, error);
    return all.size() > limits.head ? HeadFault::head_too_large : HeadFault::need_more;
  }
  head = RequestHead{};
  head.size = skipped + consumed;
  head.method = parser.method;
  head.target = parser.target;
  head.line = all.substr(0, first_end - 1);
  head.minor = parser.version == 11 ? 1 : 0;
  head.odd_names = parser.odd_names;
  if (head.method == "CONNECT" || head.method == "TRACE") return HeadFault::tunnel;
  if (parser.hosts > 1 || (parser.hosts == 0 && head.minor == 1)) return HeadFault::bad_host;
  if (const HeadFault f = read_target(head, parser.host, parser.hosts); f != HeadFault::none) return f;
  if (const HeadFault f = read_framing(parser.framing, head); f != HeadFault::none) return f;
  const auto marks = detail::read_connection(parser);
  head.close = marks.close || (head.minor == 0 && !marks.keep_alive);
  head.names_fields = marks.names_fields;
  head.upgrade = parser.upgrade;
  head.wants_upgrade =
      head.minor == 1 && marks.upgrade && !parser.upgrade.empty() && head.framing == BodyFraming::none;
  if (parser.expects != 0 && head.minor == 1) {
    head.expects_continue = parser.expects == 1 && sdk::same_field(parser.expect, "100-continue");
    head.expects_unknown = !head.expects_continue;
  }
  return HeadFault::none;
}

}  // namespace sluice::worker
