#include "plugins/sdk/limits/redis_schema.hpp"

namespace sluice::sdk {

using schema::Node;

namespace {

Node policy_is(const char* name) {
  return schema::object().property("policy", schema::string().one_of_values({name}), true);
}

Node with_key_ttl(Node node, bool key_ttl) {
  return key_ttl ? node.property("key_ttl", schema::integer().default_value(3600)) : node;
}

Node single_fields(bool key_ttl) {
  using namespace schema;
  Node node = object()
                  .property("redis_host", string().min_length(2), true)
                  .property("redis_port", integer().at_least(1).default_value(6379))
                  .property("redis_username", string().min_length(1))
                  .property("redis_password", string().min_length(0).encrypted())
                  .property("redis_database", integer().at_least(0).default_value(0))
                  .property("redis_timeout", integer().at_least(1).default_value(1000))
                  .property("redis_ssl", boolean().default_value(false))
                  .property("redis_ssl_verify", boolean().default_value(false))
                  .property("redis_keepalive_timeout", integer().at_least(1000).default_value(10000))
                  .property("redis_keepalive_pool", integer().at_least(1).default_value(100));
  return with_key_ttl(std::move(node), key_ttl);
}

Node cluster_fields(bool key_ttl) {
  using namespace schema;
  Node node = object()
                  .property("redis_password", string().min_length(0).encrypted())
                  .property("redis_timeout", integer().at_least(1).default_value(1000))
                  .property("redis_cluster_nodes", array(string().min_length(2).max_length(100)).min_items(1), true)
                  .property("redis_cluster_name", string(), true)
                  .property("redis_cluster_ssl", boolean().default_value(false))
                  .property("redis_cluster_ssl_verify", boolean().default_value(false))
                  .property("redis_keepalive_timeout", integer().at_least(1000).default_value(10000))
                  .property("redis_keepalive_pool", integer().at_least(1).default_value(100));
  return with_key_ttl(std::move(node), key_ttl);
}

Node sentinel_fields() {
  using namespace schema;
  return object()
      .property("redis_sentinels",
                array(object()
                          .property("host", string().min_length(2), true)
                          .property("port", integer().at_least(1).at_most(65535), true)
                          .closed())
                    .min_items(1),
                true)
      .property("redis_master_name", string().min_length(1), true)
      .property("redis_role", string().one_of_values({"master", "slave"}).default_value("master"))
      .property("redis_connect_timeout", integer().at_least(1).default_value(1000))
      .property("redis_read_timeout", integer().at_least(1).default_value(1000))
      .property("redis_keepalive_timeout", integer().at_least(1).default_value(60000))
      .property("redis_database", integer().at_least(0).default_value(0))
      .property("redis_username", string())
      .property("redis_password", string().min_length(0).encrypted())
      .property("sentinel_username", string())
      .property("sentinel_password", string().min_length(0).encrypted());
}

}  // namespace

Node with_redis_fields(Node node, RedisPolicies policies, bool key_ttl) {
  Node others = schema::any();
  if (policies == RedisPolicies::with_sentinel)
    others = others.with_if(policy_is("redis-sentinel"), sentinel_fields());
  others = schema::any().with_if(policy_is("redis-cluster"), cluster_fields(key_ttl), others);
  return node.with_if(policy_is("redis"), single_fields(key_ttl), others);
}

std::string redis_not_available(std::string_view policy) {
  return "policy " + std::string(policy) + " is not available in this build";
}

}  // namespace sluice::sdk
