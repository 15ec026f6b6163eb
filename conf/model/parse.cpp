// The other resources from JSON: see resources.hpp.
#include "conf/model/parse.hpp"

#include "conf/base/text.hpp"

namespace sluice::conf {
namespace parse {

Result<JsonDoc> validated(Kind kind, const Json& value) {
  JsonDoc doc;
  static_cast<Json&>(doc) = copy_json(value, doc.GetAllocator());
  CheckOptions options;
  options.from_admin = false;
  if (std::string error = check_all(kind, doc, doc.GetAllocator(), true, options); !error.empty())
    return invalid(std::move(error));
  return doc;
}

void lower(std::vector<std::string>& texts) {
  for (auto& t : texts) t = text::to_lower(t);
}

}  // namespace parse

namespace {

using parse::Fields;

Result<void> read_upstream_member(const Json& value, std::optional<Upstream>& out) {
  const Json* v = find(value, "upstream");
  if (v == nullptr) return {};
  auto upstream = parse::upstream(*v);
  if (!upstream) return upstream.error();
  out = std::move(*upstream);
  return {};
}

Result<PluginSet> parse_plugin_set(Kind kind, const Json& value) {
  auto doc = parse::validated(kind, value);
  if (!doc) return doc.error();
  PluginSet out;
  Fields f{*doc, {}};
  f.id("id", out.id)
      .read("name", out.name)
      .read("desc", out.desc)
      .read("labels", out.labels)
      .read("plugins", out.plugins);
  if (f.failed) return f.error;
  return out;
}

}  // namespace

static Result<void> read_value(const Json& v, PluginListEntry& out) {
  Fields f{v, {}};
  f.read("name", out.name).read("stream", out.stream);
  return f.failed ? Result<void>(f.error) : Result<void>();
}

Result<Route> parse_route(const Json& value) {
  auto doc = parse::validated(Kind::route, value);
  if (!doc) return doc.error();
  Route out;
  Fields f{*doc, {}};
  f.id("id", out.id).read("name", out.name).read("desc", out.desc).read("labels", out.labels);
  f.one_or_many("uri", "uris", out.uris).one_or_many("host", "hosts", out.hosts);
  f.one_or_many("remote_addr", "remote_addrs", out.remote_addrs).read("methods", out.methods);
  f.read("priority", out.priority).read("vars", out.vars).read("filter_func", out.filter_func);
  f.read("script", out.script).read("plugins", out.plugins).id("plugin_config_id", out.plugin_config_id);
  f.id("upstream_id", out.upstream_id).id("service_id", out.service_id).read("timeout", out.timeout);
  f.read("enable_websocket", out.enable_websocket);
  if (f.failed) return f.error;
  if (auto read = read_upstream_member(*doc, out.upstream); !read) return read.error();
  out.enabled = f.enabled();
  parse::lower(out.hosts);
  return out;
}

Result<Service> parse_service(const Json& value) {
  auto doc = parse::validated(Kind::service, value);
  if (!doc) return doc.error();
  Service out;
  Fields f{*doc, {}};
  f.id("id", out.id).read("name", out.name).read("desc", out.desc).read("labels", out.labels);
  f.read("plugins", out.plugins).id("upstream_id", out.upstream_id).read("script", out.script);
  f.read("enable_websocket", out.enable_websocket).read("hosts", out.hosts);
  if (f.failed) return f.error;
  if (auto read = read_upstream_member(*doc, out.upstream); !read) return read.error();
  parse::lower(out.hosts);
  return out;
}

Result<Consumer> parse_consumer(const Json& value) {
  auto doc = parse::validated(Kind::consumer, value);
  if (!doc) return doc.error();
  Consumer out;
  Fields f{*doc, {}};
  f.read("username", out.username).id("id", out.id).read("desc", out.desc).id("group_id", out.group_id);
  f.read("labels", out.labels).read("plugins", out.plugins);
  if (f.failed) return f.error;
  for (const auto& [name, text] : out.labels)
    if (name == "custom_id") out.custom_id = text;
  return out;
}

Result<Credential> parse_credential(const Json& value) {
  auto doc = parse::validated(Kind::credential, value);
  if (!doc) return doc.error();
  Credential out;
  Fields f{*doc, {}};
  f.id("id", out.id)
      .read("name", out.name)
      .read("desc", out.desc)
      .read("labels", out.labels)
      .read("plugins", out.plugins);
  if (f.failed) return f.error;
  if (const auto slash = out.id.rfind('/'); slash != std::string::npos) out.id.erase(0, slash + 1);
  return out;
}

Result<ConsumerGroup> parse_consumer_group(const Json& value) { return parse_plugin_set(Kind::consumer_group, value); }
Result<PluginConfig> parse_plugin_config(const Json& value) { return parse_plugin_set(Kind::plugin_config, value); }
Result<GlobalRule> parse_global_rule(const Json& value) { return parse_plugin_set(Kind::global_rule, value); }

Result<Ssl> parse_ssl(const Json& value) {
  auto doc = parse::validated(Kind::ssl, value);
  if (!doc) return doc.error();
  Ssl out;
  Fields f{*doc, {}};
  std::string type, certificate, key;
  std::vector<std::string> certificates, keys;
  f.id("id", out.id).read("desc", out.desc).read("labels", out.labels).read("type", type);
  f.one_or_many("sni", "snis", out.snis).read("cert", certificate).read("key", key).read("certs", certificates);
  f.read("keys", keys).read("ssl_protocols", out.protocols);
  if (const Json* client = find(*doc, "client")) {
    Fields c{*client, {}};
    c.read("ca", out.client_ca).read("depth", out.client_depth).read("skip_mtls_uri_regex", out.skip_mtls_uri_regex);
    if (c.failed) return c.error;
  }
  if (f.failed) return f.error;
  out.client = type == "client";
  out.enabled = f.enabled();
  out.pairs.emplace_back(std::move(certificate), std::move(key));
  for (std::size_t i = 0; i < certificates.size() && i < keys.size(); ++i)
    out.pairs.emplace_back(std::move(certificates[i]), std::move(keys[i]));
  parse::lower(out.snis);
  for (auto& sni : out.snis)
    if (sni.size() > 1 && sni.back() == '.') sni.pop_back();
  return out;
}

Result<Proto> parse_proto(const Json& value) {
  auto doc = parse::validated(Kind::proto, value);
  if (!doc) return doc.error();
  Proto out;
  Fields f{*doc, {}};
  f.id("id", out.id).read("name", out.name).read("desc", out.desc).read("content", out.content);
  if (f.failed) return f.error;
  return out;
}

Result<StreamRoute> parse_stream_route(const Json& value) {
  auto doc = parse::validated(Kind::stream_route, value);
  if (!doc) return doc.error();
  StreamRoute out;
  Fields f{*doc, {}};
  f.id("id", out.id).read("name", out.name).read("desc", out.desc).read("remote_addr", out.remote_addr);
  f.read("server_addr", out.server_addr).read("server_port", out.server_port).read("sni", out.sni);
  f.id("upstream_id", out.upstream_id).id("service_id", out.service_id).read("plugins", out.plugins);
  f.read("protocol", out.protocol);
  if (f.failed) return f.error;
  if (const Json* protocol = find(*doc, "protocol")) {
    Fields p{*protocol, {}};
    p.read("name", out.protocol_name).id("superior_id", out.protocol_superior_id);
  }
  if (auto read = read_upstream_member(*doc, out.upstream); !read) return read.error();
  return out;
}

Result<CostDecoration> parse_cost_decoration(const Json& value) {
  auto doc = parse::validated(Kind::cost_decoration, value);
  if (!doc) return doc.error();
  CostDecoration out;
  Fields f{*doc, {}};
  f.id("id", out.id).id("service_id", out.service_id).read("field_path", out.field_path);
  f.read("add_value", out.add_value).read("add_arguments", out.add_arguments);
  f.read("mul_value", out.mul_value).read("mul_arguments", out.mul_arguments);
  if (f.failed) return f.error;
  return out;
}

Result<std::vector<PluginListEntry>> parse_plugin_list(const Json& value) {
  auto doc = parse::validated(Kind::plugins, value);
  if (!doc) return doc.error();
  std::vector<PluginListEntry> out;
  if (auto read = schema::read_into(*doc, out); !read) return read.error();
  return out;
}

}  // namespace sluice::conf
