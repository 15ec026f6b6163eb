// Endpoints of the Admin API that are no resources: plugins, schemas, validation.
#include "admin/api/api.hpp"
#include "admin/api/bulk.hpp"
#include "admin/api/document.hpp"
#include "admin/api/published.hpp"
#include "conf/base/text.hpp"
#include "conf/model/check.hpp"

namespace sluice::admin {

void Api::plugins_endpoint(const CallRef& call) {
  const auto& s = call->segments;
  const http::Request& request = *call->request;
  if (s.size() == 2 && s[1] == "reload") {
    if (request.method != "PUT")
      return refuse(
          call,
          Refusal{
              405, "please use PUT method to reload the plugins, " + request.method + " method is not allowed.", {}});
    if (services_.reload_plugins)
      if (auto done = services_.reload_plugins(); !done) return refuse(call, Refusal{503, done.error().message(), {}});
    return answer(call, text_answer(200, "done"));
  }
  if (request.method != "GET") return refuse(call, Refusal{404, "not found", {}});
  if (s.size() == 2 && s[1] == "list") {
    const std::string subsystem = request.arg("subsystem").value_or("http");
    if (subsystem != "http" && subsystem != "stream") return answer(call, text_answer(400, "invalid subsystem passed"));
    std::string body = "[";
    if (subsystem == "http")
      for (std::string_view name : services_.checker.enabled().names_by_priority()) {
        if (body.size() > 1) body += ',';
        body += json_string(name);
      }
    return answer(call, json_answer(200, body + "]"));
  }
  call->versioned = true;
  if (s.size() > 1) return plugin_schema(call, s[1]);
  if (request.arg("all").value_or("") != "true") return refuse(call, bad_request("not found plugin name"));
  const std::string subsystem = request.arg("subsystem").value_or("http");
  if (subsystem != "http" && subsystem != "stream")
    return refuse(call, bad_request("unsupported subsystem: " + subsystem));
  answer(call, json_answer(200, subsystem == "http" ? all_plugin_schemas(services_.checker.enabled()) : "{}"));
}

void Api::plugin_schema(const CallRef& call, const std::string& name) {
  const std::string subsystem = call->request->arg("subsystem").value_or("http");
  if (subsystem != "http" && subsystem != "stream")
    return refuse(call, bad_request("unsupported subsystem: " + subsystem));
  const sdk::PluginType* type = subsystem == "http" ? services_.checker.enabled().find(name) : nullptr;
  if (type == nullptr) return refuse(call, Refusal{404, "plugin not found in subsystem " + subsystem, {}});
  const auto schema = published_plugin_schema(*type, call->request->arg("schema_type").value_or(""));
  if (!schema) return refuse(call, bad_request("not found schema"));
  answer(call, json_answer(200, *schema));
}

void Api::schema_endpoint(const CallRef& call) {
  const auto& s = call->segments;
  if (call->request->method != "GET") return refuse(call, Refusal{404, "not found", {}});
  call->versioned = true;
  if (s.size() >= 3 && s[1] == "plugins") return plugin_schema(call, s[2]);
  const std::string name = s.size() > 1 ? s[1] : "";
  const auto schema = resource_schema(name);
  if (!schema) return refuse(call, bad_request("not found schema: " + name));
  answer(call, json_answer(200, *schema));
}

void Api::schema_validate(const CallRef& call) {
  const std::string collection = call->segments.size() > 2 ? call->segments[2] : "";
  const auto kind = conf::kind_of_collection(collection);
  if (!kind || *kind == conf::Kind::plugins)
    return refuse(call, Refusal{404, "Unsupported resource type: " + collection, {}});
  if (!read_body(call)) return;
  if (!call->has_body) return refuse(call, bad_request("missing configurations"));
  JsonDoc value;
  value.CopyFrom(call->body, value.GetAllocator());
  const std::string message = conf::check_schema(*kind, value, value.GetAllocator(), false);
  if (!message.empty()) return refuse(call, bad_request(message));
  answer(call, text_answer(200, ""));
}

// A whole document: validated, compared, or put in place of everything as one revision.
void Api::configs_endpoint(const CallRef& call) {
  const http::Request& request = *call->request;
  const std::string action = call->segments.size() > 1 ? call->segments[1] : "";
  const bool put = request.method == "PUT" && call->segments.size() == 1;
  const bool post =
      request.method == "POST" && call->segments.size() == 2 && (action == "validate" || action == "diff");
  if (!put && !post) return refuse(call, Refusal{404, "not found", {}});
  if (request.oversize != 0) {
    read_body(call);
    return;
  }
  if (request.body.empty()) return refuse(call, bad_request("invalid request body: empty request body"));
  const bool yaml = request.header("Content-Type").starts_with("application/yaml");
  auto report = validate_document(services_.checker, request.body, yaml);
  if (!report) return refuse(call, report.error());
  if (!report->valid || action == "validate") return answer(call, json_answer(report->valid ? 200 : 400, report->json));
  const Image& image = services_.configuration.image();
  if (action == "diff")
    return answer(call, json_answer(200, to_text(difference(image, report->document), options_.prefix)));
  if (stopped_) return refuse(call, Refusal{503, "this admin process is handing over to a new one", {}});
  const std::uint64_t current = services_.configuration.next_revision() - 1;
  const std::string_view match = request.header("If-Match");
  if (!match.empty() && match != "*" && match != "\"" + std::to_string(current) + "\"")
    return refuse(call, Refusal{409, "the revision is " + std::to_string(current) + ", not " + std::string(match), {}});
  std::vector<Edit> edits = edits_for(image, report->document, services_.wall_ms() / 1000);
  if (edits.empty()) {
    http::Response same = json_answer(200, "{\"revision\":" + std::to_string(current) + "}");
    return answer(call, std::move(same.with("X-Sluice-Revision", std::to_string(current))));
  }
  services_.configuration.write(std::move(edits), [this, call](const Result<Written>& result) {
    finish_write(call, result,
                 json_answer(200, "{\"revision\":" + std::to_string(result ? result->revision : 0) + "}"));
  });
}

}  // namespace sluice::admin
