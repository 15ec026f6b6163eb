// Answers of the Admin API: envelopes and refusals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "admin/http/message.hpp"
#include "conf/base/json.hpp"
#include "conf/base/result.hpp"

namespace sluice::admin {

// A request that is refused. `extra` holds further members of the body, ready JSON: `,"references":[…]`.
struct Refusal {
  unsigned status = 400;
  std::string message;
  std::string extra;
};

template <class T>
using Outcome = boost::system::result<T, Refusal>;

inline Refusal bad_request(std::string message) { return Refusal{400, std::move(message), {}}; }
[[noreturn]] inline void throw_exception_from_error(const Refusal& r, const boost::source_location&) {
  throw std::runtime_error(r.message);
}

std::string json_string(std::string_view text);  // quoted and escaped
http::Response json_answer(unsigned status, std::string body_json);
http::Response text_answer(unsigned status, std::string body);  // plain text under the API's content type
http::Response refusal_answer(const Refusal& refusal);          // {"error_msg":…}
http::Response not_found_answer();                              // {"message":"Key not found"}

}  // namespace sluice::admin
