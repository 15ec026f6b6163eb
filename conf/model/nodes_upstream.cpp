// Schema of the upstream.
#include "conf/model/nodes.hpp"

namespace sluice::conf::nodes {

using schema::Node;

namespace {

Node check_type() { return schema::string().one_of_values({"http", "https", "tcp"}).default_value("http"); }

Node statuses(const char* defaults) {
  return schema::array(schema::integer().at_least(200).at_most(599)).min_items(1).unique().default_json(defaults);
}

Node threshold(int least, int standard) {
  return schema::integer().at_least(least).at_most(254).default_value(standard);
}

Node interval() { return schema::integer().at_least(1).default_value(1); }

Node active_check() {
  const Node healthy = schema::object()
                           .property("interval", interval())
                           .property("http_statuses", statuses("[200,302]"))
                           .property("successes", threshold(1, 2));
  const Node unhealthy = schema::object()
                             .property("interval", interval())
                             .property("http_statuses", statuses("[429,404,500,501,502,503,504,505]"))
                             .property("http_failures", threshold(1, 5))
                             .property("tcp_failures", threshold(1, 2))
                             .property("timeouts", threshold(1, 3));
  return schema::object()
      .property("type", check_type())
      .property("timeout", schema::number().default_value(1))
      .property("concurrency", schema::integer().default_value(10))
      .property("host", host())
      .property("port", schema::integer().at_least(1).at_most(65535))
      .property("http_method", method().default_value("GET"))
      .property("http_path", schema::string().default_value("/"))
      .property("http_req_body", schema::string().default_value(""))
      .property("https_verify_certificate", schema::boolean().default_value(true))
      .property("req_headers", schema::array(schema::string().keyword("uniqueItems", "true")).min_items(1))
      .property("healthy", healthy)
      .property("unhealthy", unhealthy);
}

Node passive_check() {
  const Node healthy =
      schema::object()
          .property("http_statuses",
                    statuses("[200,201,202,203,204,205,206,207,208,226,300,301,302,303,304,305,306,307,308]"))
          .property("successes", threshold(0, 5));
  const Node unhealthy = schema::object()
                             .property("http_statuses", statuses("[429,500,503]"))
                             .property("http_failures", threshold(0, 5))
                             .property("tcp_failures", threshold(0, 2))
                             .property("timeouts", threshold(0, 7));
  return schema::object().property("type", check_type()).property("healthy", healthy).property("unhealthy", unhealthy);
}

Node checks() {
  return schema::object()
      .property("active", active_check())
      .property("passive", passive_check())
      .require_any({{"active"}, {"active", "passive"}});
}

Node node_list() {
  const Node weight = schema::integer().at_least(0);
  const Node item = schema::object()
                        .property("host", host(), kRequired)
                        .property("port", schema::integer().at_least(1).at_most(65535).doc("port of node"))
                        .property("weight", weight.doc("weight of node"), kRequired)
                        .property("priority", schema::integer().default_value(0).doc("priority of node"))
                        .property("metadata", schema::object().doc("metadata of node"));
  return schema::any_of({schema::object().pattern_property(".*", weight.doc("weight of node")), schema::array(item)});
}

Node tls() {
  return schema::object()
      .property("client_cert", certificate())
      .property("client_key", private_key())
      .property("client_cert_id", id())
      .property("verify", schema::boolean().default_value(false).doc(
                              "Turn on server certificate verification, currently only kafka upstream is supported"))
      .depends("client_cert", Node().require({"client_key"}))
      .depends("client_key", Node().require({"client_cert"}))
      .depends("client_cert_id", schema::negate(Node().require({"client_cert", "client_key"})));
}

Node keepalive_pool() {
  return schema::object()
      .property("size", schema::integer().at_least(1).default_value(320))
      .property("idle_timeout", schema::number().at_least(0).default_value(60))
      .property("requests", schema::integer().at_least(1).default_value(1000));
}

Node scheme() {
  return schema::string()
      .one_of_values({"grpc", "grpcs", "http", "https", "tcp", "tls", "udp", "kafka"})
      .default_value("http")
      .doc(
          "The scheme of the upstream. For L7 proxy, it can be one of grpc/grpcs/http/https. For L4 proxy, it can be "
          "one "
          "of tcp/tls/udp. For specific protocols, it can be kafka.");
}

}  // namespace

Node upstream() {
  static const Node kNode =
      with_metadata(schema::object())
          .property("nodes", node_list())
          .property("retries", schema::integer().at_least(0))
          .property("retry_timeout", schema::number().at_least(0))
          .property("timeout", timeout())
          .property("tls", tls())
          .property("keepalive_pool", keepalive_pool())
          .property("type", schema::string().default_value("roundrobin").doc("algorithms of load balancing"))
          .property("checks", checks())
          .property("hash_on", schema::string()
                                   .one_of_values({"vars", "header", "cookie", "consumer", "vars_combinations"})
                                   .default_value("vars"))
          .property("key", schema::string().doc("the key of chash for dynamic load balancing"))
          .property("scheme", scheme())
          .property("discovery_type", schema::string().doc("discovery type"))
          .property("discovery_args", schema::object()
                                          .property("namespace_id", schema::string().doc("namespace id"))
                                          .property("group_name", schema::string().doc("group name")))
          .property("pass_host", schema::string()
                                     .one_of_values({"pass", "node", "rewrite"})
                                     .default_value("pass")
                                     .doc("mod of host passing"))
          .property("upstream_host", host())
          .property("service_name", schema::string().min_length(1).max_length(256))
          .with_one_of({Node().require({"nodes"}), Node().require({"service_name", "discovery_type"})})
          .closed();
  return kNode;
}

}  // namespace sluice::conf::nodes
