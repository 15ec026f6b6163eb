// Schemas of consumers and credentials, certificates, protos, secrets and cost decorations.
#include "conf/model/nodes.hpp"

namespace sluice::conf::nodes {

using schema::Node;

Node consumer() {
  return schema::object()
      .property("username", schema::string().min_length(1).max_length(256).pattern("^[a-zA-Z0-9_\\-]+$"), kRequired)
      .property("group_id", id())
      .property("plugins", plugins())
      .property("id", id())
      .property("desc", desc())
      .property("labels", labels())
      .property("create_time", timestamp())
      .property("update_time", timestamp())
      .closed();
}

Node credential() {
  const Node nested =
      schema::string().min_length(15).max_length(128).pattern("^[a-zA-Z0-9-_]+/credentials/[a-zA-Z0-9-_.]+$");
  return with_metadata(schema::object())
      .property("id", schema::any_of({schema::string().min_length(1).max_length(64).pattern("^[a-zA-Z0-9-_.]+$"),
                                      schema::integer().at_least(1), nested}))
      .property("plugins", plugins().max_properties(1))
      .closed();
}

Node ssl() {
  const Node client =
      schema::object()
          .property("ca", certificate(), kRequired)
          .property("depth", schema::integer().at_least(0).default_value(1))
          .property("skip_mtls_uri_regex",
                    schema::array(schema::string().doc("uri regular expression to skip mtls")).min_items(1).unique());
  return schema::object()
      .property("id", id())
      .property(
          "type",
          schema::string()
              .one_of_values({"server", "client"})
              .default_value("server")
              .doc("ssl certificate type, server to server certificate, client to client certificate for upstream"))
      .property("cert", certificate())
      .property("key", private_key())
      .property("sni", host())
      .property("snis", schema::array(host()).min_items(1))
      .property("certs", schema::array(certificate()))
      .property("keys", schema::array(private_key()))
      .property("client", client)
      .property("status",
                schema::integer().enum_json("[1,0]").default_value(1).doc("ssl status, 1 to enable, 0 to disable"))
      .property("ssl_protocols", schema::array(schema::string().one_of_values({"TLSv1.1", "TLSv1.2", "TLSv1.3"}))
                                     .max_items(3)
                                     .unique()
                                     .doc("set ssl protocols"))
      .property("desc", desc())
      .property("labels", labels())
      .property("create_time", timestamp())
      .property("update_time", timestamp())
      .require({"cert", "key"})
      .with_if(Node().property("type", schema::any().one_of_values({"server"})),
               schema::any_of({Node().require({"sni"}), Node().require({"snis"})}))
      .closed();
}

Node proto() {
  return with_metadata(schema::object())
      .property("content", schema::string().min_length(1).max_length(1024 * 1024), kRequired)
      .closed();
}

Node cost_decoration() {
  const Node arguments = schema::array(schema::string().min_length(1));
  return with_metadata(schema::object())
      .property("field_path", schema::string().pattern("^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$"),
                kRequired)
      .property("add_value", schema::number().at_least(0).default_value(1))
      .property("add_arguments", arguments)
      .property("mul_value", schema::number().at_least(0).default_value(1))
      .property("mul_arguments", arguments)
      .property("service_id", id())
      .closed();
}

Node vault() {
  return schema::object()
      .property("uri", url(), kRequired)
      .property("prefix", schema::string(), kRequired)
      .property("token", schema::string().encrypted(), kRequired)
      .property("namespace", schema::string());
}

Node aws() {
  return schema::object()
      .property("access_key_id", schema::string(), kRequired)
      .property("secret_access_key", schema::string().encrypted(), kRequired)
      .property("session_token", schema::string())
      .property("region", schema::string().default_value("us-east-1"))
      .property("endpoint_url", url());
}

Node gcp() {
  const Node account = schema::object()
                           .property("client_email", schema::string(), kRequired)
                           .property("private_key", schema::string().encrypted(), kRequired)
                           .property("project_id", schema::string(), kRequired)
                           .property("token_uri", schema::string())
                           .property("scope", schema::array(schema::string()))
                           .property("entries_uri", schema::string());
  return schema::object()
      .property("auth_config", account)
      .property("ssl_verify", schema::boolean().default_value(true))
      .property("auth_file", schema::string())
      .with_one_of({Node().require({"auth_config"}), Node().require({"auth_file"})});
}

}  // namespace sluice::conf::nodes
