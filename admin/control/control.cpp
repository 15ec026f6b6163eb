#include "admin/control/control.hpp"

#include <algorithm>

#include "admin/api/answers.hpp"
#include "admin/api/published.hpp"
#include "admin/api/resource_path.hpp"
#include "admin/control/health_view.hpp"
#include "admin/control/in_memory.hpp"
#include "plugins/sdk/known_names.hpp"

namespace sluice::admin {

using conf::Kind;

namespace {

http::Response not_found(std::string message) { return refusal_answer(Refusal{404, std::move(message), {}}); }

bool directly_below(std::string_view key, std::string_view prefix) {
  return key.substr(prefix.size()).find('/') == std::string_view::npos;
}

// The key's alphabets of a consistent hash, which the reference publishes beside the resources.
constexpr const char* kHashSchemas =
    R"("upstream_hash_header_schema":{"type":"string","pattern":"^[a-zA-Z0-9-_]+$"},)"
    R"("upstream_hash_vars_schema":{"type":"string","pattern":"^((uri|server_name|server_addr|request_uri|remote_port|remote_addr|query_string|host|hostname|mqtt_client_id)|arg_[0-9a-zA-z_-]+)$"})";

std::size_t rank_of(std::string_view plugin) {
  const auto at = std::find(std::begin(sdk::kKnownNames), std::end(sdk::kKnownNames), plugin);
  return static_cast<std::size_t>(at - std::begin(sdk::kKnownNames));
}

}  // namespace

void Control::handle(const std::shared_ptr<const http::Request>& request, const http::Respond& respond) {
  respond(answer(*request));
}

http::Response Control::answer(const http::Request& request) {
  const std::vector<std::string> s = segments_of(request.path);
  const std::string at = s.size() > 1 && s[0] == "v1" ? s[1] : std::string();
  const std::size_t n = s.size();
  if (request.method == "PUT" && n == 3 && at == "plugins" && s[2] == "reload") return reload();
  if (request.method == "POST" && n == 2 && at == "gc") return http::Response{};
  if (request.method != "GET") return http::error_page(404);
  if (n == 2) {
    if (at == "schema") return schemas();
    if (at == "routes") return list(Kind::route);
    if (at == "services") return list(Kind::service);
    if (at == "upstreams") return list(Kind::upstream);
    if (at == "plugin_metadatas") return metadatas();
  }
  if (n == 3) {
    if (at == "route") return one(Kind::route, "route", s[2]);
    if (at == "service") return one(Kind::service, "service", s[2]);
    if (at == "upstream") return one(Kind::upstream, "upstream", s[2]);
    if (at == "plugin_metadata") return metadata(s[2]);
  }
  if (at == "healthcheck" && n <= 4)
    return health_answer(services_.image, services_.prefix, request, n > 2 ? s[2] : "", n > 3 ? s[3] : "");
  if (at == "discovery" && n == 4 && s[3] == "dump") return not_found("unknown discovery type: " + s[2]);
  return http::error_page(404);
}

http::Response Control::schemas() const {
  std::string body = "{\"main\":{";
  for (const char* name : {"consumer", "consumer_group", "global_rule", "graphql_cost_decoration", "plugin_config",
                           "plugins", "proto", "route", "service", "ssl", "stream_route", "upstream"})
    if (auto schema = resource_schema(name)) body += json_string(name) + ":" + *schema + ",";
  body += kHashSchemas;
  body += "},\"plugins\":" + all_plugin_schemas(services_.enabled) + ",\"stream_plugins\":{}}";
  return json_answer(200, std::move(body));
}

std::string Control::item(Kind kind, const Object& object) const {
  bool has_domain = false;
  const std::string value = in_memory_form(kind, object.plain.value(), has_domain);
  return "{\"key\":" + json_string(services_.prefix + "/" + object.key) + ",\"value\":" + value +
         ",\"createdIndex\":" + std::to_string(object.created) +
         ",\"modifiedIndex\":" + std::to_string(object.modified) +
         ",\"has_domain\":" + (has_domain ? "true" : "false") + ",\"clean_handlers\":{}}";
}

http::Response Control::list(Kind kind) const {
  const std::string prefix = conf::join_key(kind, "");
  std::string body = "[";
  services_.image.each_committed(prefix, [&](const Object& object) {
    if (!directly_below(object.key, prefix)) return true;
    if (body.size() > 1) body += ',';
    body += item(kind, object);
    return true;
  });
  return json_answer(200, body + "]");
}

http::Response Control::one(Kind kind, const std::string& word, const std::string& id) const {
  const Object* object = services_.image.find_committed(conf::join_key(kind, id));
  if (object == nullptr) return not_found(word + "[" + id + "] not found");
  return json_answer(200, item(kind, *object));
}

http::Response Control::metadatas() const {
  std::vector<const Object*> all;
  const std::string prefix = conf::join_key(Kind::plugin_metadata, "");
  services_.image.each_committed(prefix, [&](const Object& object) {
    all.push_back(&object);
    return true;
  });
  // In the order in which plugins run.
  std::stable_sort(all.begin(), all.end(), [&](const Object* a, const Object* b) {
    return rank_of(std::string_view(a->key).substr(prefix.size())) <
           rank_of(std::string_view(b->key).substr(prefix.size()));
  });
  std::string body = "[";
  for (const Object* object : all) body += (body.size() > 1 ? "," : "") + to_json(object->plain.value());
  return json_answer(200, body + "]");
}

http::Response Control::metadata(const std::string& plugin) const {
  const Object* object = services_.image.find_committed(conf::join_key(Kind::plugin_metadata, plugin));
  if (object == nullptr) return not_found("plugin metadata[" + plugin + "] not found");
  return json_answer(200, to_json(object->plain.value()));
}

http::Response Control::reload() {
  if (services_.reload_plugins)
    if (auto done = services_.reload_plugins(); !done) return refusal_answer(Refusal{503, done.error().message(), {}});
  http::Response r;
  r.content_type = "text/plain";
  r.body = "done";
  return r;
}

}  // namespace sluice::admin
