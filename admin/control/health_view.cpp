#include "admin/control/health_view.hpp"

#include <vector>

#include "admin/api/answers.hpp"

namespace sluice::admin {

namespace {

constexpr const char* kTypes[] = {"routes", "services", "upstreams", "stream_routes"};

const Json* checks_of(const Object& object) {
  const Json& value = object.plain.value();
  if (object.key.starts_with("upstreams/")) return find(value, "checks");
  const Json* upstream = find(value, "upstream");
  return upstream != nullptr ? find(*upstream, "checks") : nullptr;
}

std::string check_type(const Json& checks) {
  for (const char* side : {"active", "passive"})
    if (const Json* part = find(checks, side)) {
      const Json* type = find(*part, "type");
      return type != nullptr && type->IsString() ? std::string(text_of(*type)) : "http";
    }
  return "http";
}

std::string health_object(const std::string& prefix, const Object& object, const Json& checks) {
  return "{\"name\":" + json_string(prefix + "/" + object.key) + ",\"type\":" + json_string(check_type(checks)) +
         ",\"nodes\":[]}";
}

http::Response html() {
  http::Response r;
  r.content_type = "text/html";
  r.body =
      "<!DOCTYPE html>\n<html>\n<head><title>Upstream health</title></head>\n<body>\n<table>\n<tr><th>Index</th>"
      "<th>Upstream</th><th>Check type</th><th>Host</th><th>Status</th><th>Success counts</th><th>TCP Failures</th>"
      "<th>HTTP Failures</th><th>TIMEOUT Failures</th></tr>\n</table>\n</body>\n</html>\n";
  return r;
}

}  // namespace

http::Response health_answer(const Image& image, const std::string& prefix, const http::Request& request,
                             const std::string& type, const std::string& id) {
  const bool as_html = request.header("Accept").find("text/html") != std::string_view::npos;
  if (type.empty()) {
    if (as_html) return html();
    std::string list;
    for (const char* collection : kTypes)
      image.each_committed(std::string(collection) + "/", [&](const Object& object) {
        if (const Json* checks = checks_of(object))
          list += (list.empty() ? "" : ",") + health_object(prefix, object, *checks);
        return true;
      });
    return json_answer(200, list.empty() ? "{}" : "[" + list + "]");
  }
  bool known = false;
  for (const char* collection : kTypes) known = known || type == collection;
  if (!known) return refusal_answer(bad_request("invalid src type " + type));
  if (id.empty()) return refusal_answer(Refusal{404, "missing src id for src type " + type, {}});
  const Object* object = image.find_committed(type + "/" + id);
  if (object == nullptr) return refusal_answer(Refusal{404, type + "[" + id + "] not found", {}});
  const Json* checks = checks_of(*object);
  if (checks == nullptr) return refusal_answer(Refusal{404, "no checker for " + type + "[" + id + "]", {}});
  return as_html ? html() : json_answer(200, health_object(prefix, *object, *checks));
}

}  // namespace sluice::admin
