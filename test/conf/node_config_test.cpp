// The node file: defaults, forms of keys, messages, substitution.
#include "conf/node_config.hpp"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::conf;

namespace {

const Environment kEnv = [](std::string_view name) -> std::optional<std::string> {
  if (name == "P") return "9082";
  if (name == "YES") return "true";
  if (name == "KEYNAME") return "node_listen";
  return std::nullopt;
};

NodeConfig good(std::string_view text) {
  auto c = parse_node_config(text, "config.yaml", kEnv);
  INFO((c ? std::string() : c.error().message()));
  REQUIRE(c.has_value());
  return *c;
}

std::string bad(std::string_view text) {
  auto c = parse_node_config(text, "config.yaml", kEnv);
  return c ? "no error" : c.error().message();
}

bool mentions(const std::vector<std::string>& texts, std::string_view part) {
  for (const auto& t : texts)
    if (t.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("built-in defaults", "[conf][node]") {
  const auto c = good("");
  CHECK(c.provider == Provider::embedded);
  REQUIRE(c.apisix.listen.size() == 2);
  CHECK(c.apisix.listen[0] == Listen{"0.0.0.0", 9080});
  CHECK(c.apisix.listen[1].implied);
  CHECK(c.admin.listen == Listen{"127.0.0.1", 9180});
  CHECK(c.admin.enabled);
  CHECK(c.admin.keys.at(0).key.empty());
  CHECK(c.admin.allow.contains("127.0.0.1"));
  CHECK(!c.admin.allow.contains("10.0.0.1"));
  CHECK(c.apisix.control == Listen{"127.0.0.1", 9090});
  CHECK(!c.apisix.status);
  CHECK(!c.worker_processes());
  CHECK(c.sluice.affinity == OwnConfig::Affinity::automatic);
  CHECK(c.sluice.limits.request_line == 8192);
  CHECK(c.plugins.size() == 107);
  CHECK(!c.plugins_listed);
  CHECK(c.warnings.empty());
  CHECK(mentions(c.notices, "9443"));
  CHECK(find(*find(c.plugin_attr.get(), "prometheus"), "refresh_interval")->GetInt() == 15);
  CHECK(c.nginx.access_log.format.find("$apisix_request_id") != std::string::npos);
  CHECK(c.nginx.real_ip_from.contains("127.0.0.1"));
  CHECK(c.apisix.keyring.empty());
}

TEST_CASE("listeners", "[conf][node]") {
  CHECK(good("apisix: {node_listen: 9081, enable_ipv6: false}").apisix.listen ==
        std::vector<Listen>{{"0.0.0.0", 9081}});
  const auto c =
      good("apisix:\n  node_listen: [9081, {ip: 127.0.0.2, port: 9082}]\n  proxy_protocol: {listen_http_port: 9181}\n");
  REQUIRE(c.apisix.listen.size() == 4);
  CHECK(c.apisix.listen[2] == Listen{"127.0.0.2", 9082});
  CHECK(c.apisix.listen[3].proxy_protocol);
  CHECK(bad("apisix:\n  node_listen:\n    - {port: 9081, enable_http2: true}\n").find("enable_http2") !=
        std::string::npos);
  CHECK(bad("apisix: {node_listen: 0}").find("expected a port") != std::string::npos);
  CHECK(bad("apisix: {node_listen: 9180}") == "http listen port 9180 conflicts with admin port");
  CHECK(bad("apisix: {control: {port: 9180}}") == "control port 9180 conflicts with admin port");
  CHECK(bad("apisix: {status: {port: 9090}}") == "status port 9090 conflicts with control port");
  CHECK(good("apisix: {status: {}}").apisix.status->port == 7085);
}

TEST_CASE("variables in values and keys", "[conf][node]") {
  CHECK(good("apisix: {enable_ipv6: false, node_listen: \"${{P}}\"}").apisix.listen[0].port == 9082);
  CHECK(good("apisix:\n  node_listen: ${{NONE:=9083}}\n").apisix.listen[0].port == 9083);
  CHECK(good("apisix:\n  ${{KEYNAME}}: 9084\n  enable_dev_mode: ${{ YES }}\n").worker_processes() == 1);
  CHECK(bad("apisix: {id: \"${{NONE}}\"}") == "failed to handle configuration: can't find environment variable NONE");
}

TEST_CASE("wrong types name place, expectation and what was found", "[conf][node]") {
  CHECK(bad("apisix:\n  enable_admin: maybe\n") ==
        "failed to merge, path[apisix->enable_admin] expect: boolean, but got: string (config.yaml line 2)");
  CHECK(bad("deployment: {admin: {admin_listen: {port: \"x\"}}}")
            .find("path[deployment->admin->admin_listen->port] expect: number") != std::string::npos);
  CHECK(bad("apisix: {router: {http: radixtree_hosturi}}").find("did you mean \"radixtree_host_uri\"?") !=
        std::string::npos);
  CHECK(bad("apisix: {data_encryption: {keyring: short}}").find("16 or 32 bytes") != std::string::npos);
  CHECK(bad("apisix: {trusted_addresses: [x]}").find("invalid ip address: x") != std::string::npos);
  CHECK(bad("nginx_config: {http: {keepalive_timeout: 5 parsecs}}").find("expected a time") != std::string::npos);
}

TEST_CASE("unknown keys are warnings with the nearest name", "[conf][node]") {
  const auto c = good(
      "apisix:\n  node_listn: 1\nplugin_attr: {mine: {a: 1}}\nnope: 1\nnginx_config: {http_configuration_snippet: "
      "x}\n");
  CHECK(mentions(c.warnings,
                 "unknown key apisix.node_listn (config.yaml line 2) is ignored; did you mean apisix.node_listen?"));
  CHECK(mentions(c.warnings, "unknown key nope"));
  CHECK(mentions(c.warnings, "http_configuration_snippet"));
  CHECK(c.warnings.size() == 3);
}

TEST_CASE("roles and providers", "[conf][node]") {
  const auto c = good("deployment: {role: data_plane, role_data_plane: {config_provider: yaml}}");
  CHECK(c.file_provider());
  CHECK(!c.admin.enabled);
  CHECK(bad("deployment: {role: traditional, role_traditional: {config_provider: etcd}}")
            .find("invalid deployment traditional configuration: ") == 0);
  CHECK(bad("deployment: {role_traditional: {config_provider: yaml}}")
            .find("invalid deployment traditional configuration: ") == 0);
  CHECK(bad("deployment: {role: data_plane}").find("invalid deployment data_plane configuration: ") == 0);
  CHECK(bad("deployment: {role: boss}").find("failed to validate config: deployment.role: expected one of") == 0);
  CHECK(!good("deployment: {role: control_plane}").serves_traffic());
}

TEST_CASE("admin keys and addresses", "[conf][node]") {
  CHECK(good("deployment: {admin: {allow_admin: ~}}").admin.allow_all);
  CHECK(good("deployment: {admin: {allow_admin: []}}").admin.allow.empty());
  CHECK(!good("deployment: {admin: {admin_key: ~}}").admin.keys_configured);
  CHECK(bad("deployment: {admin: {allow_admin: ~, admin_key: ~}}").find("ERROR: missing valid Admin API token.") == 0);
  CHECK(good("deployment: {admin: {admin_key: [{name: v, key: k, role: viewer}]}}").admin.keys[0].viewer());
  CHECK(bad("deployment: {admin: {https_admin: true}}") == "missing ssl cert for https admin");
}

TEST_CASE("what two sections say must agree", "[conf][node]") {
  CHECK(good("nginx_config: {worker_processes: 3}").worker_processes() == 3);
  CHECK(good("sluice: {worker_processes: 2}").worker_processes() == 2);
  CHECK(bad("nginx_config: {worker_processes: 3}\nsluice: {worker_processes: 2}").find("disagrees with") !=
        std::string::npos);
  const auto c = good(
      "nginx_config: {http: {lua_shared_dict: {plugin-limit-count: 10m}}}\nsluice: {shared_dict: {limit-req: 1g}, "
      "cpu_affinity: [0, 2]}");
  CHECK(c.shared_dict_size("plugin-limit-count", 1) == 10u << 20);
  CHECK(c.shared_dict_size("limit-req", 1) == 1u << 30);
  CHECK(c.shared_dict_size("other", 5) == 5);
  CHECK(c.sluice.affinity_cpus == std::vector<int>{0, 2});
  CHECK(bad("sluice: {cpu_affinity: sometimes}").find("expected \"auto\"") != std::string::npos);
}

TEST_CASE("plugin lists and attributes", "[conf][node]") {
  const auto c =
      good("plugins: [limit-req]\nplugin_attr: {prometheus: {export_addr: {port: 9092}, metric_prefix: x_}}\n");
  CHECK(c.plugins == std::vector<std::string>{"limit-req"});
  CHECK(c.plugins_listed);
  CHECK(c.prometheus.export_addr.port == 9092);
  CHECK(text_of(*find(*find(c.plugin_attr.get(), "prometheus"), "metric_prefix")) == "x_");
  CHECK(find(*find(c.plugin_attr.get(), "prometheus"), "export_uri") != nullptr);
}

TEST_CASE("times and sizes", "[conf][node]") {
  CHECK(parse_duration("60s")->count() == 60000);
  CHECK(parse_duration("60")->count() == 60000);
  CHECK(parse_duration("1m30s")->count() == 90000);
  CHECK(parse_duration("500ms")->count() == 500);
  CHECK(parse_duration("1.5h")->count() == 5400000);
  CHECK(parse_duration("1M")->count() == 2592000000);
  for (const char* text : {"", "s", "5x", "-1s", "1e9y", "999999y"}) CHECK(parse_duration(text).has_error());
  CHECK(*parse_size("10m") == 10u << 20);
  CHECK(*parse_size("1G") == 1u << 30);
  CHECK(*parse_size("7") == 7);
  for (const char* text : {"", "m", "-1", "1t", "99999999999999999999g", "1.5m"}) CHECK(parse_size(text).has_error());
}

TEST_CASE("hostile node files end in an error", "[conf][node]") {
  CHECK(bad("a: [").find("config.yaml: failed to parse the file: line") == 0);
  CHECK(bad("just text").find("expected sections") != std::string::npos);
  CHECK(bad("[1,2]").find("expected sections") != std::string::npos);
  CHECK(bad("apisix: &a {b: *a}").find("nested deeper") != std::string::npos);
  CHECK(bad(std::string("apisix: \xc3\x28")).find("UTF-8") != std::string::npos);
  CHECK(bad(std::string(5u << 20, ' ')).find("over the limit") != std::string::npos);
  for (const char* text : {"apisix: 1", "apisix: [1]", "deployment: x", "plugins: x", "plugin_attr: [1]", "sluice: 5",
                           "apisix: {node_listen: {}}", "apisix: {ssl: {listen: [x]}}", "nginx_config: {http: [1]}",
                           "apisix: {stream_proxy: {tcp: [{}]}}", "deployment: {admin: {admin_key: [x]}}"})
    CHECK(bad(text).find("fail") == 0);
}

TEST_CASE("each given key without effect is said once", "[conf][node]") {
  const auto c = good("apisix: {tracing: true, enable_reuseport: true}\nsluice: {history: 5, limits: {trailers: 4k}}\n");
  for (const char* key : {"apisix.tracing (", "apisix.enable_reuseport (", "sluice.history ("}) CHECK(mentions(c.notices, key));
  CHECK(!mentions(c.notices, "limits"));
  CHECK(!mentions(good("").notices, "no effect"));
}

TEST_CASE("limits stay within the buffers", "[conf][node]") {
  CHECK(bad("sluice: {limits: {request_head: 200k}}").find("sluice.limits.request_head") != std::string::npos);
  CHECK(bad("sluice: {limits: {request_head: 200k}}").find("found 204800") != std::string::npos);
  CHECK(bad("sluice: {limits: {replay_buffer: 0}}").find("sluice.limits.replay_buffer") != std::string::npos);
  CHECK(good("sluice: {limits: {request_head: 100k, response_head: 112k}}").sluice.limits.request_head == 102400);
}
