#include "admin/api/answers.hpp"

namespace sluice::admin {

std::string json_string(std::string_view text) {
  return to_json(
      Json(rapidjson::StringRef(text.empty() ? "" : text.data(), static_cast<rapidjson::SizeType>(text.size()))));
}

http::Response json_answer(unsigned status, std::string body_json) {
  http::Response r;
  r.status = status;
  r.content_type = "application/json";
  r.body = std::move(body_json);
  r.body += '\n';
  return r;
}

http::Response text_answer(unsigned status, std::string body) {
  http::Response r;
  r.status = status;
  r.content_type = "application/json";
  r.body = std::move(body);
  return r;
}

http::Response refusal_answer(const Refusal& refusal) {
  return json_answer(refusal.status, "{\"error_msg\":" + json_string(refusal.message) + refusal.extra + "}");
}

http::Response not_found_answer() { return json_answer(404, "{\"message\":\"Key not found\"}"); }

}  // namespace sluice::admin
