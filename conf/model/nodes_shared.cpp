// Types that several resources share, and the lookup of a kind's schema.
#include "conf/model/kinds.hpp"
#include "conf/model/nodes.hpp"

namespace sluice::conf {
namespace nodes {

using schema::Node;

Node id() {
  static const Node kNode = schema::any_of(
      {schema::string().min_length(1).max_length(64).pattern("^[a-zA-Z0-9-_.]+$"), schema::integer().at_least(1)});
  return kNode;
}

Node name() { return schema::string().min_length(1).max_length(256); }
Node desc() { return schema::string().max_length(256); }

Node labels() {
  static const Node kNode =
      schema::object()
          .pattern_property(".*",
                            schema::string().min_length(1).max_length(256).pattern("^\\S+$").doc("value of label"))
          .doc("key/value pairs to specify attributes");
  return kNode;
}

Node timestamp() { return schema::integer(); }

Node host() {
  static const Node kNode = schema::string().pattern("^\\*$|^\\*?[0-9a-zA-Z-._\\[\\]:]+$");
  return kNode;
}

Node ip(const char* description) {
  static const std::string kOctet = "([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])";
  static const std::vector<Node> kForms = {
      schema::string().format("ipv4").keyword("title", "\"IPv4\""),
      schema::string()
          .pattern("^" + kOctet + "\\." + kOctet + "\\." + kOctet + "\\." + kOctet + "/([12]?[0-9]|3[0-2])$")
          .keyword("title", "\"IPv4/CIDR\""),
      schema::string().format("ipv6").keyword("title", "\"IPv6\""),
      schema::string()
          .pattern("^([a-fA-F0-9]{0,4}:){1,8}(:[a-fA-F0-9]{0,4}){0,8}([a-fA-F0-9]{0,4})?/[0-9]{1,3}$")
          .keyword("title", "\"IPv6/CIDR\"")};
  return schema::string().with_any_of(kForms).doc(description);
}

Node timeout() {
  static const Node kNode = [] {
    const Node seconds = schema::number().greater_than(0);
    return schema::object()
        .property("connect", seconds)
        .property("send", seconds)
        .property("read", seconds)
        .require({"connect", "send", "read"});
  }();
  return kNode;
}

Node method() {
  return schema::string().one_of_values(
      {"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "CONNECT", "TRACE", "PURGE"});
}

Node plugins() { return schema::object(); }
Node certificate() { return schema::string().min_length(128).max_length(64 * 1024); }
Node private_key() { return schema::string().min_length(64).max_length(64 * 1024); }
Node url() { return schema::string().pattern("^[^\\/]+:\\/\\/([\\da-zA-Z.-]+|\\[[\\da-fA-F:]+\\])(:\\d+)?"); }

Node with_metadata(const Node& object) {
  return object.property("id", id())
      .property("name", name())
      .property("desc", desc())
      .property("labels", labels())
      .property("create_time", timestamp())
      .property("update_time", timestamp());
}

}  // namespace nodes

const schema::Node& node_of(Kind kind) {
  static const schema::Node kNodes[kKindCount] = {
      nodes::route(),       nodes::service(),         nodes::upstream(),
      nodes::consumer(),    nodes::credential(),      nodes::consumer_group(),
      nodes::global_rule(), nodes::plugin_config(),   schema::object(),
      nodes::ssl(),         nodes::proto(),           nodes::stream_route(),
      schema::object(),     nodes::cost_decoration(), nodes::plugin_list()};
  return kNodes[static_cast<std::size_t>(kind) % kKindCount];
}

const schema::Node* secret_node(std::string_view manager) {
  static const schema::Node kVault = nodes::vault(), kAws = nodes::aws(), kGcp = nodes::gcp();
  if (manager == "vault") return &kVault;
  if (manager == "aws") return &kAws;
  if (manager == "gcp") return &kGcp;
  return nullptr;
}

const schema::Node& plugin_meta_node() {
  static const schema::Node kNode =
      schema::object()
          .property("disable", schema::boolean())
          .property("error_response", schema::one_of({schema::string(), schema::object()}))
          .property("priority", schema::integer().doc("priority of plugins by customized order"))
          .property("filter",
                    schema::array().doc("filter determines whether the plugin needs to be executed at runtime"))
          .property("pre_function",
                    schema::string().doc("function to be executed in each phase before execution of plugins. The "
                                         "pre_function will have access to two arguments: `conf` and `ctx`."))
          .closed();
  return kNode;
}

schema::Node with_plugin_meta(const schema::Node& plugin_schema) {
  return plugin_schema.property("_meta", plugin_meta_node())
      .keyword("$comment", "\"this is a mark for our injected plugin schema\"");
}

}  // namespace sluice::conf
