// The Admin API: one generic resource CRUD over a table of kinds, and the few endpoints that are no resources.
//
// Main thread only. A request goes: address and token, stream-mode check, resource type, method, body, ttl, handler.
// Reads are answered at once from the image; writes when the store has them and the workers have acknowledged.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/api/answers.hpp"
#include "admin/api/checker.hpp"
#include "admin/api/key_index.hpp"
#include "admin/api/options.hpp"
#include "admin/api/resource_path.hpp"
#include "admin/http/message.hpp"
#include "admin/store/configuration.hpp"

namespace sluice::admin {

class Api {
 public:
  struct Services {
    Configuration& configuration;
    Checker& checker;
    std::function<std::int64_t()> wall_ms;  // the wall clock
    // PUT /plugins/reload: re-reads the node file's lists and tells the workers.
    std::function<Result<void>()> reload_plugins;
    std::vector<std::string> stream_plugins;  // enabled, for /plugins/list?subsystem=stream
  };

  Api(ApiOptions options, Services services) : options_(std::move(options)), services_(std::move(services)) {}

  void handle(const std::shared_ptr<const http::Request>& request, const http::Respond& respond);

  // No writes are taken any more (a newer admin process is about to take over): 503.
  void stop_writes() noexcept { stopped_ = true; }

 private:
  // One request on its way; the handlers take it by reference.
  struct Call {
    std::shared_ptr<const http::Request> request;
    http::Respond respond;
    std::vector<std::string> segments;  // below /apisix/admin
    JsonDoc body;
    bool has_body = false;
    std::int64_t expires_ms = 0;
    bool versioned = false;  // X-API-VERSION is due
  };
  using CallRef = std::shared_ptr<Call>;

  void route(const CallRef& call);
  bool read_body(const CallRef& call);
  void answer(const CallRef& call, http::Response response) const;
  void refuse(const CallRef& call, const Refusal& refusal) const { answer(call, refusal_answer(refusal)); }

  // resource.cpp
  void resource(const CallRef& call, const ResourcePath& path);
  void get_one(const CallRef& call, const Subject& subject) const;
  void get_list(const CallRef& call, const ResourcePath& path) const;
  void put_or_post(const CallRef& call, const ResourcePath& path, bool post);
  void patch(const CallRef& call, const ResourcePath& path);
  void remove(const CallRef& call, const ResourcePath& path);
  Outcome<Subject> subject_for_write(const Call& call, const ResourcePath& path, bool post) const;
  Outcome<void> fit(const Subject& subject, const ResourcePath& path, JsonBox& value);
  void store_value(const CallRef& call, Subject subject, std::shared_ptr<JsonBox> value, unsigned status);
  void finish_write(const CallRef& call, const Result<Written>& result, http::Response good) const;
  std::string member_of(const Object& object) const;  // {"key","value","createdIndex","modifiedIndex"}
  std::string answer_key(std::string_view key) const { return json_string(options_.prefix + "/" + std::string(key)); }

  // endpoints.cpp
  void plugins_endpoint(const CallRef& call);
  void schema_endpoint(const CallRef& call);
  void schema_validate(const CallRef& call);
  void plugin_schema(const CallRef& call, const std::string& name);
  void configs_endpoint(const CallRef& call);

  ApiOptions options_;
  Services services_;
  bool stopped_ = false;
};

}  // namespace sluice::admin
