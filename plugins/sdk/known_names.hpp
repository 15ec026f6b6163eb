// Names of plugins that configurations of the reference may carry, built here or not: what is named but not built gets a
// message that says so.
#pragma once

#include <string_view>

namespace sluice::sdk {

inline constexpr std::string_view kKnownNames[] = {
    "real-ip", "exit-transformer", "ai", "client-control", "proxy-buffering", "proxy-control", "request-id", "zipkin",
    "skywalking", "opentelemetry", "ext-plugin-pre-req", "fault-injection", "mocking", "serverless-pre-function",
    "batch-requests", "cors", "ip-restriction", "ua-restriction", "referer-restriction", "csrf", "uri-blocker",
    "request-validation", "chaitin-waf", "multi-auth", "openid-connect", "saml-auth", "cas-auth", "authz-casbin",
    "authz-casdoor", "wolf-rbac", "ldap-auth-advanced", "ldap-auth", "hmac-auth", "basic-auth", "jwt-auth",
    "jwe-decrypt", "key-auth", "dingtalk-auth", "feishu-auth", "acl", "consumer-restriction", "attach-consumer-label",
    "forward-auth", "opa", "authz-keycloak", "data-mask", "error-log-logger", "proxy-cache", "body-transformer",
    "ai-request-rewrite", "ai-prompt-guard", "ai-prompt-template", "ai-prompt-decorator", "ai-rag", "ai-proxy-multi",
    "ai-proxy", "ai-cache", "ai-aws-content-moderation", "ai-rate-limiting", "ai-aliyun-content-moderation",
    "ai-lakera-guard", "proxy-mirror", "graphql-proxy-cache", "proxy-rewrite", "workflow", "api-breaker",
    "graphql-limit-count", "limit-conn", "limit-count", "limit-req", "node-status", "brotli", "gzip", "server-info",
    "traffic-label", "traffic-split", "redirect", "response-rewrite", "oas-validator", "mcp-bridge", "degraphql",
    "kafka-proxy", "dubbo-proxy", "grpc-transcode", "grpc-web", "http-dubbo", "public-api", "prometheus", "datadog",
    "error-page", "lago", "loki-logger", "elasticsearch-logger", "echo", "loggly", "http-logger",
    "splunk-hec-logging", "skywalking-logger", "google-cloud-logging", "sls-logger", "tcp-logger", "kafka-logger",
    "rocketmq-logger", "syslog", "udp-logger", "file-logger", "clickhouse-logger", "tencent-cloud-cls", "inspect",
    "log-rotate", "example-plugin", "gm", "ocsp-stapling", "aws-lambda", "azure-functions", "openwhisk",
    "openfunction", "serverless-post-function", "ext-plugin-post-req", "ext-plugin-post-resp", "mqtt-proxy",
};

}  // namespace sluice::sdk
