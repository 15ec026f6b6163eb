// The control API: what this node knows, as JSON, on a loopback listener and without a key. Reads only, but for the
// plugin reload and a garbage collection that has nothing to do here.
//
// Main thread only; reads the committed view of the image.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admin/http/message.hpp"
#include "admin/store/image.hpp"
#include "conf/model/kinds.hpp"
#include "plugins/sdk/registry.hpp"

namespace sluice::admin {

struct ControlServices {
  const Image& image;
  const sdk::EnabledPlugins& enabled;
  std::string prefix = "/apisix";  // of keys; empty with a standalone file
  std::function<Result<void>()> reload_plugins;
};

class Control {
 public:
  explicit Control(ControlServices services) : services_(std::move(services)) {}
  void handle(const std::shared_ptr<const http::Request>& request, const http::Respond& respond);

 private:
  http::Response answer(const http::Request& request);
  http::Response schemas() const;
  http::Response list(conf::Kind kind) const;
  http::Response one(conf::Kind kind, const std::string& word, const std::string& id) const;
  http::Response metadatas() const;
  http::Response metadata(const std::string& plugin) const;
  http::Response reload();
  std::string item(conf::Kind kind, const Object& object) const;

  ControlServices services_;
};

}  // namespace sluice::admin
