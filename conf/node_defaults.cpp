// Built-in values of the node file that are too long for an initialiser.
#include "conf/node_reader.hpp"

namespace sluice::conf {

// In the order of their priorities. A name that this build does not have is no error: the registry says so once.
// clang-format off
std::vector<std::string> default_plugins() {
  return {
      "real-ip", "ai", "client-control", "proxy-buffering", "proxy-control", "request-id", "zipkin",
      "ext-plugin-pre-req", "fault-injection", "mocking", "serverless-pre-function", "cors", "ip-restriction",
      "ua-restriction", "referer-restriction", "csrf", "uri-blocker", "request-validation", "chaitin-waf",
      "multi-auth", "openid-connect", "saml-auth", "cas-auth", "authz-casbin", "authz-casdoor", "wolf-rbac",
      "ldap-auth-advanced", "ldap-auth", "hmac-auth", "basic-auth", "jwt-auth", "jwe-decrypt", "key-auth",
      "dingtalk-auth", "feishu-auth", "acl", "consumer-restriction", "attach-consumer-label", "forward-auth",
      "opa", "authz-keycloak", "data-mask", "proxy-cache", "body-transformer", "ai-request-rewrite",
      "ai-prompt-guard", "ai-prompt-template", "ai-prompt-decorator", "ai-rag", "ai-proxy-multi", "ai-proxy",
      "ai-cache", "ai-aws-content-moderation", "ai-rate-limiting", "ai-aliyun-content-moderation",
      "ai-lakera-guard", "proxy-mirror", "graphql-proxy-cache", "proxy-rewrite", "workflow", "api-breaker",
      "graphql-limit-count", "limit-conn", "limit-count", "limit-req", "gzip", "traffic-label", "traffic-split",
      "redirect", "response-rewrite", "oas-validator", "mcp-bridge", "degraphql", "kafka-proxy",
      "grpc-transcode", "grpc-web", "http-dubbo", "public-api", "prometheus", "datadog", "lago", "loki-logger",
      "elasticsearch-logger", "echo", "loggly", "http-logger", "splunk-hec-logging", "skywalking-logger",
      "google-cloud-logging", "sls-logger", "tcp-logger", "kafka-logger", "rocketmq-logger", "syslog",
      "udp-logger", "file-logger", "clickhouse-logger", "tencent-cloud-cls", "inspect", "example-plugin",
      "aws-lambda", "azure-functions", "openwhisk", "openfunction", "serverless-post-function",
      "ext-plugin-post-req", "ext-plugin-post-resp"};
}

// clang-format on

std::vector<std::string> default_stream_plugins() {
  return {"ip-restriction", "limit-conn", "mqtt-proxy", "syslog", "traffic-split"};
}

const Json& default_plugin_attr() {
  static const JsonDoc kDefaults = *parse_json(R"json({
    "prometheus": {"export_uri": "/apisix/prometheus/metrics", "metric_prefix": "apisix_", "enable_export_server": true,
                   "export_addr": {"ip": "127.0.0.1", "port": 9091}, "refresh_interval": 15},
    "opentelemetry": {"trace_id_source": "x-request-id", "resource": {"service.name": "APISIX"},
                      "collector": {"address": "127.0.0.1:4318", "request_timeout": 3},
                      "batch_span_processor": {"drop_on_queue_full": false, "max_queue_size": 1024, "batch_timeout": 2,
                                               "inactive_timeout": 1, "max_export_batch_size": 16},
                      "set_ngx_var": false},
    "skywalking": {"service_name": "APISIX", "service_instance_name": "APISIX Instance Name",
                   "endpoint_addr": "http://127.0.0.1:12800", "report_interval": 3},
    "zipkin": {"set_ngx_var": false},
    "log-rotate": {"timeout": 10000, "interval": 3600, "max_kept": 168, "max_size": -1, "enable_compression": false},
    "proxy-mirror": {"timeout": {"connect": "60s", "read": "60s", "send": "60s"}},
    "server-info": {"report_ttl": 60},
    "dubbo-proxy": {"upstream_multiplex_count": 32},
    "inspect": {"delay": 3}
  })json");
  return kDefaults;
}

std::string default_access_log_format() {
  return "$remote_addr - $remote_user [$time_local] $http_host \"$request\" $status $body_bytes_sent $request_time "
         "\"$http_referer\" \"$http_user_agent\" $upstream_addr $upstream_status $upstream_response_time "
         "\"$upstream_scheme://$upstream_host$upstream_uri\" \"$apisix_request_id\"";
}

std::string default_stream_access_log_format() {
  return "$remote_addr [$time_local] $protocol $status $bytes_sent $bytes_received $session_time";
}

std::string default_ciphers() {
  return "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
         "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
         "DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384";
}

}  // namespace sluice::conf
