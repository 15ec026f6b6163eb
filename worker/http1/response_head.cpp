#include "worker/http1/response_head.hpp"

#include "worker/http1/beast_parser.hpp"

namespace sluice::worker {

namespace {

bool read_framing(const detail::FramingMarks& marks, bool no_body, ResponseHead& head) noexcept {
  if (marks.lengths > 1 || marks.encodings > 1 || (marks.lengths != 0 && marks.encodings != 0)) return false;
  if (marks.lengths == 1) {
    head.has_length = true;
    if (!parse_length(marks.length, head.stated_length)) return false;
  }
  const bool bodiless = no_body || head.status < 200 || head.status == 204 || head.status == 304;
  if (marks.encodings == 1) {
    if (!sdk::same_field(marks.encoding, "chunked") || head.minor == 0) return false;
    head.framing = BodyFraming::chunked;
  } else if (head.has_length) {
    head.framing = head.stated_length == 0 ? BodyFraming::none : BodyFraming::length;
    head.length = head.stated_length;
  } else {
    head.framing = BodyFraming::until_close;
  }
  if (bodiless) head.framing = BodyFraming::none;
  return true;
}

}  // namespace

ResponseFault parse_response_head(std::string_view octets, std::size_t fresh_from, std::size_t max_head, bool no_body,
                                  sdk::HeaderList& fields, ResponseHead& head) noexcept {
  if (octets.empty()) return ResponseFault::need_more;
  if (!detail::worth_parsing(octets, fresh_from))
    return octets.size() > max_head ? ResponseFault::too_large : ResponseFault::need_more;
  detail::HeadParser<false> parser(octets, 1000, fields);
  parser.header_limit(static_cast<std::uint32_t>(max_head));
  parser.skip(true);
  detail::Code error;
  const std::size_t consumed = parser.put(boost::asio::const_buffer(octets.data(), octets.size()), error);
  if (error) {
    if (error == boost::beast::http::error::header_limit) return ResponseFault::too_large;
    if (error != boost::beast::http::error::need_more) return ResponseFault::malformed;
    return octets.size() > max_head ? ResponseFault::too_large : ResponseFault::need_more;
  }
  head = ResponseHead{};
  head.status = static_cast<std::uint16_t>(parser.status_code);
  head.reason = parser.reason;
  head.minor = parser.version == 11 ? 1 : 0;
  head.size = consumed;
  if (head.status < 100) return ResponseFault::malformed;
  if (!read_framing(parser.framing, no_body, head)) return ResponseFault::malformed;
  const auto marks = detail::read_connection(parser);
  head.close = marks.close || (head.minor == 0 && !marks.keep_alive);
  head.names_fields = marks.names_fields;
  head.upgrade = marks.upgrade;
  return ResponseFault::none;
}

}  // namespace sluice::worker
