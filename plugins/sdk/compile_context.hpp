// CompileContext: what a plugin may ask for while its configuration is compiled, and never later.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "plugins/sdk/template.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::shm {
class Catalog;
}

namespace sluice::sdk {

// Standing things of the process that compiles: the worker, or the admin process in its dry run.
struct PluginHost {
  shm::Catalog* catalog = nullptr;            // never nullptr in a running gateway
  int worker_slot = -1;                       // slot in the shared tables; -1 in the admin process
  const Json* plugin_attr = nullptr;          // `plugin_attr` of the node file, an object
  // plugin_metadata/<name> in force, or nullptr.
  std::function<const Json*(std::string_view plugin)> metadata;
  // Settings of `group` already in force elsewhere (limit-count): canonical text of the first user, or empty.
  std::function<std::string(std::string_view plugin, std::string_view group)> group_conf;
  std::vector<std::uint16_t> tls_ports;       // of the node file's TLS listeners, when TLS is enabled there
  bool dry_run = false;                       // compile to see whether it compiles: register nothing
};

class CompileContext {
 public:
  CompileContext(const PluginHost& host, std::string resource_key, std::string conf_version)
      : host_(host), resource_key_(std::move(resource_key)), conf_version_(std::move(conf_version)) {}

  const PluginHost& host() const noexcept { return host_; }
  shm::Catalog& catalog() const noexcept { return *host_.catalog; }
  const std::string& resource_key() const noexcept { return resource_key_; }    // "/apisix/routes/1"
  const std::string& conf_version() const noexcept { return conf_version_; }
  // Key prefix of limiters: "<resource_key>:<conf_version>:".
  std::string key_prefix() const { return resource_key_ + ":" + conf_version_ + ":"; }
  const Json* metadata(std::string_view plugin) const { return host_.metadata ? host_.metadata(plugin) : nullptr; }
  // plugin_attr.<plugin>, or nullptr.
  const Json* attributes(std::string_view plugin) const {
    return host_.plugin_attr ? find(*host_.plugin_attr, plugin) : nullptr;
  }

  // The configuration being compiled, defaults filled in; alive while compile() runs. nullptr: compiled without JSON.
  const Json* conf() const noexcept { return conf_; }
  void set_conf(const Json& conf) noexcept { conf_ = &conf; }

  // Compile through the context, so that what reads the request body is known before a request comes.
  Variable variable(std::string_view name) {
    Variable v = Variable::compile(name);
    needs_request_body_ |= v.needs_request_body();
    return v;
  }
  Template text(std::string_view source) {
    Template t = Template::compile(source);
    needs_request_body_ |= t.needs_request_body();
    return t;
  }
  bool needs_request_body() const noexcept { return needs_request_body_; }
  void require_request_body() noexcept { needs_request_body_ = true; }

 private:
  const PluginHost& host_;
  std::string resource_key_;
  std::string conf_version_;
  const Json* conf_ = nullptr;
  bool needs_request_body_ = false;
};

}  // namespace sluice::sdk
