// Schemas of route, service, stream route and the sets of plugins.
#include "conf/model/nodes.hpp"

namespace sluice::conf::nodes {

using schema::Node;

namespace {

Node either(const char* one, const char* many) {
  return schema::one_of({Node().require({one}), Node().require({many})});
}

Node neither_or_one(const char* one, const char* many) {
  return schema::one_of(
      {schema::negate(Node().require_any({{one}, {many}})), Node().require({one}), Node().require({many})});
}

Node script() { return schema::string().min_length(10).max_length(100 * 1024); }

}  // namespace

Node route() {
  return with_metadata(schema::object())
      .property("uri", schema::string().min_length(1).max_length(4096))
      .property("uris", schema::array(schema::string().doc("HTTP uri")).min_items(1).unique())
      .property("host", host())
      .property("hosts", schema::array(host()).min_items(1).unique())
      .property("remote_addr", ip("client IP"))
      .property("remote_addrs", schema::array(ip("client IP")).min_items(1).unique())
      .property("methods", schema::array(method().doc("HTTP method")).unique())
      .property("priority", schema::integer().default_value(0))
      .property("vars", schema::array())
      .property("filter_func", schema::string().min_length(10).pattern("^function"))
      .property("script", script())
      .property("script_id", id())
      .property("plugins", plugins())
      .property("plugin_config_id", id())
      .property("upstream", upstream())
      .property("upstream_id", id())
      .property("service_id", id())
      .property("timeout", timeout())
      .property("enable_websocket", schema::boolean().doc("enable websocket for request"))
      .property("status",
                schema::integer().enum_json("[1,0]").default_value(1).doc("route status, 1 to enable, 0 to disable"))
      .closed()
      .with_all_of(
          {either("uri", "uris"), neither_or_one("host", "hosts"), neither_or_one("remote_addr", "remote_addrs")})
      .require_any({{"plugins", "uri"},
                    {"upstream", "uri"},
                    {"upstream_id", "uri"},
                    {"service_id", "uri"},
                    {"plugins", "uris"},
                    {"upstream", "uris"},
                    {"upstream_id", "uris"},
                    {"service_id", "uris"},
                    {"script", "uri"},
                    {"script", "uris"}})
      .with_not(Node().require_any({{"script", "plugins"}, {"script", "plugin_config_id"}}));
}

Node service() {
  return with_metadata(schema::object())
      .property("plugins", plugins())
      .property("upstream", upstream())
      .property("upstream_id", id())
      .property("script", script())
      .property("enable_websocket", schema::boolean().doc("enable websocket for request"))
      .property("hosts", schema::array(host()).min_items(1).unique())
      .closed();
}

Node stream_route() {
  const Node logger = Node()
                          .property("name", schema::string())
                          .property("filter", schema::array().doc("logger filter rules"))
                          .property("conf", schema::object().doc("logger plugin configuration"))
                          .depends("name", schema::Names{"conf"})
                          .closed();
  const Node protocol = schema::object()
                            .property("name", schema::string(), kRequired)
                            .property("superior_id", id())
                            .property("conf", schema::object().doc("protocol-specific configuration"))
                            .property("logger", schema::array(logger));
  return with_metadata(schema::object())
      .property("remote_addr", ip("client IP"))
      .property("server_addr", ip("server IP"))
      .property("server_port", schema::integer().at_least(1).at_most(65535).doc("server port"))
      .property("sni", host().doc("server name indication"))
      .property("upstream", upstream())
      .property("upstream_id", id())
      .property("service_id", id())
      .property("plugins", plugins())
      .property("protocol", protocol)
      .closed();
}

Node consumer_group() { return with_metadata(schema::object()).property("plugins", plugins(), kRequired).closed(); }

Node plugin_config() {
  return with_metadata(schema::object())
      .property("name", schema::string())
      .property("plugins", plugins())
      .require({"id", "plugins"})
      .closed();
}

Node global_rule() {
  return schema::object()
      .property("id", id())
      .property("plugins", plugins())
      .property("create_time", timestamp())
      .property("update_time", timestamp())
      .require({"id", "plugins"})
      .closed();
}

Node plugin_list() {
  return schema::array(schema::object()
                           .property("name", schema::string().min_length(1))
                           .property("stream", schema::boolean())
                           .require({"name"}));
}

}  // namespace sluice::conf::nodes
