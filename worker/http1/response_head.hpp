// The head of a node's answer: parsed in place like a request's, judged as strictly. What is not one clear answer is a
// fault (502): the gateway never guesses where an answer ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugins/sdk/headers.hpp"
#include "worker/http1/request_head.hpp"

namespace sluice::worker {

enum class ResponseFault : std::uint8_t { none, need_more, malformed, too_large };

struct ResponseHead {
  std::uint16_t status = 0;
  std::string_view reason;
  int minor = 1;
  std::size_t size = 0;
  BodyFraming framing = BodyFraming::none;
  std::uint64_t length = 0;     // of framing length
  bool has_length = false;      // Content-Length was there (also of answers without body)
  std::uint64_t stated_length = 0;
  bool close = false;           // the connection ends after this answer
  bool names_fields = false;
  bool upgrade = false;         // Connection: upgrade
};

// no_body: the request was HEAD.
ResponseFault parse_response_head(std::string_view octets, std::size_t fresh_from, std::size_t max_head, bool no_body,
                                  sdk::HeaderList& fields, ResponseHead& head) noexcept;

}  // namespace sluice::worker
