#include "master/check.hpp"

#include <fstream>
#include <sstream>

#include "conf/model/check.hpp"
#include "conf/standalone.hpp"
#include "plugins/sdk/registry.hpp"

namespace sluice::master {

namespace {

std::string plugins_message(const sdk::EnabledPlugins& enabled, conf::Kind kind, const Json& value) {
  const Json* plugins = find(value, "plugins");
  if (plugins == nullptr || !plugins->IsObject()) return {};
  const bool identity = kind == conf::Kind::consumer || kind == conf::Kind::credential;
  for (const auto& member : plugins->GetObject()) {
    const std::string_view name(member.name.GetString(), member.name.GetStringLength());
    const auto checked = identity ? sdk::check_consumer_plugin_conf(enabled, name, member.value)
                                  : sdk::check_plugin_conf(enabled, name, member.value);
    if (!checked) return checked.error().reason;
  }
  return {};
}

}  // namespace

std::string resource_file(const conf::NodeConfig& node, const std::string& config_dir) {
  return config_dir + (node.provider == conf::Provider::json ? "/apisix.json" : "/apisix.yaml");
}

Result<void> check_resource_file(const conf::NodeConfig& node, const std::string& config_dir) {
  if (!node.file_provider()) return {};
  const bool json = node.provider == conf::Provider::json;
  const std::string path = resource_file(node, config_dir);
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{Errc::not_found, path, "expected a readable resource file", "master", false};
  std::stringstream text;
  text << in.rdbuf();
  conf::StandaloneOptions options;
  options.format = json ? conf::StandaloneFormat::json : conf::StandaloneFormat::yaml;
  options.needs_end_flag = !json;
  auto document = conf::parse_standalone(text.str(), path, conf::process_environment(), options);
  if (!document) return document.error();

  std::string first;
  std::size_t bad = 0;
  const auto report = [&](conf::Kind kind, const std::string& id, const std::string& message) {
    if (bad++ == 0) first = std::string(conf::info(kind).collection) + " [" + id + "]: " + message;
  };
  for (const conf::StandaloneError& e : document->errors) report(e.kind, e.id, e.message);
  const sdk::EnabledPlugins enabled(node.plugins);
  for (const conf::StandaloneItem& item : document->items) {
    JsonDoc copy;
    copy.CopyFrom(item.value.get(), copy.GetAllocator());
    conf::CheckOptions check;
    check.from_admin = false;
    std::string message = conf::check_all(item.kind, copy, copy.GetAllocator(), false, check);
    if (message.empty()) message = plugins_message(enabled, item.kind, item.value.get());
    if (!message.empty()) report(item.kind, item.id, message);
  }
  if (bad == 0) return {};
  if (bad > 1) first += " (and " + std::to_string(bad - 1) + " more)";
  return invalid(first, path);
}

}  // namespace sluice::master
