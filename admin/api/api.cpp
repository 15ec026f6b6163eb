#include "admin/api/api.hpp"

#include "admin/api/access.hpp"
#include "conf/base/text.hpp"

namespace sluice::admin {

namespace {

constexpr std::string_view kRoot = "/apisix/admin";

bool is_api_method(std::string_view m) {
  return m == "GET" || m == "PUT" || m == "POST" || m == "DELETE" || m == "PATCH";
}

void add_cors(http::Response& r) {
  r.with("Access-Control-Allow-Origin", "*")
      .with("Access-Control-Allow-Credentials", "true")
      .with("Access-Control-Expose-Headers", "*")
      .with("Access-Control-Max-Age", "3600");
}

}  // namespace

void Api::answer(const CallRef& call, http::Response response) const {
  if (options_.cors) add_cors(response);
  if (call->versioned) response.with("X-API-VERSION", "v3");
  call->respond(std::move(response));
}

void Api::handle(const std::shared_ptr<const http::Request>& request, const http::Respond& respond) {
  auto call = std::make_shared<Call>();
  call->request = request;
  call->respond = respond;
  const std::string& path = request->path;
  const bool ours = path == kRoot || path.starts_with(std::string(kRoot) + "/");
  if (!ours) return answer(call, http::error_page(404));
  if (auto refused = refuse_address(options_, *request)) return answer(call, std::move(*refused));
  if (request->method == "OPTIONS" && options_.cors) {
    http::Response r;
    r.content_type = "text/plain";
    r.with("Access-Control-Allow-Methods", "POST, GET, PUT, OPTIONS, DELETE, PATCH")
        .with("Access-Control-Allow-Headers", "*");
    return answer(call, std::move(r));
  }
  if (request->method == "HEAD" && (path == kRoot || path == std::string(kRoot) + "/")) {
    http::Response r;
    r.content_type = "application/json";
    return answer(call, std::move(r));
  }
  if (!is_api_method(request->method)) return answer(call, http::error_page(404));
  if (auto refused = refuse_token(options_, *request)) return answer(call, std::move(*refused));
  call->segments = segments_of(std::string_view(path).substr(kRoot.size()));
  route(call);
}

void Api::route(const CallRef& call) {
  const auto& s = call->segments;
  const std::string& method = call->request->method;
  const std::string first = s.empty() ? std::string() : s[0];
  if (first == "stream_routes" && !options_.stream_mode)
    return refuse(call, bad_request("stream mode is disabled, can not add stream routes"));
  if (first == "plugins") return plugins_endpoint(call);
  if (first == "schema" && s.size() >= 2 && s[1] == "validate" && method == "POST") return schema_validate(call);
  if (first == "schema") return schema_endpoint(call);
  if (first == "configs") return configs_endpoint(call);
  const auto path = resource_path(s);
  if (!path) return refuse(call, Refusal{404, "Unsupported resource type: " + first, {}});
  if (!read_body(call)) return;
  if (const auto ttl = call->request->arg("ttl")) {
    const auto seconds = text::to_double(*ttl);
    if (!seconds) return refuse(call, bad_request("invalid argument ttl: should be a number"));
    if (*seconds > 0 && *seconds < 1e12)
      call->expires_ms = services_.wall_ms() + static_cast<std::int64_t>(*seconds * 1000.0);
  }
  call->versioned = true;
  if (stopped_ && method != "GET")
    return refuse(call, Refusal{503, "this admin process is handing over to a new one", {}});
  resource(call, *path);
}

// Reads the request's body as JSON when there is one. False: refused, and answered.
bool Api::read_body(const CallRef& call) {
  const http::Request& request = *call->request;
  if (request.oversize != 0) {
    refuse(call, bad_request("invalid request body: request size " + std::to_string(request.oversize) +
                             " is greater than the maximum size " + std::to_string(options_.max_body) + " allowed"));
    return false;
  }
  if (request.body.empty()) return true;
  auto parsed = parse_json(request.body);
  if (!parsed) {
    refuse(call, Refusal{400, "invalid request body: " + parsed.error().reason,
                         ",\"req_body\":" + json_string(request.body)});
    return false;
  }
  call->body = std::move(*parsed);
  call->has_body = true;
  return true;
}

}  // namespace sluice::admin
