// Upstream from JSON: see upstream.hpp.
#include <algorithm>

#include "conf/base/cidr.hpp"
#include "conf/base/text.hpp"
#include "conf/model/parse.hpp"

namespace sluice::conf {
namespace {

template <class E, std::size_t N>
bool read_name(const Json& value, const std::string_view (&names)[N], E& out) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] != text_of(value)) continue;
    out = static_cast<E>(i);
    return true;
  }
  return false;
}

constexpr std::string_view kSchemes[] = {"http", "https", "grpc", "grpcs", "tcp", "udp", "tls", "kafka"};
constexpr std::string_view kBalancers[] = {"roundrobin", "chash", "ewma", "least_conn"};
constexpr std::string_view kHashOn[] = {"vars", "header", "cookie", "consumer", "vars_combinations"};
constexpr std::string_view kPassHost[] = {"pass", "node", "rewrite"};
constexpr std::string_view kCheckTypes[] = {"http", "https", "tcp"};

}  // namespace

std::string_view name_of(Scheme scheme) noexcept { return kSchemes[static_cast<std::size_t>(scheme)]; }
std::string_view name_of(CheckType type) noexcept { return kCheckTypes[static_cast<std::size_t>(type)]; }
std::string_view name_of(BalancerType type) noexcept {
  return type == BalancerType::unknown ? std::string_view("unknown") : kBalancers[static_cast<std::size_t>(type)];
}

std::uint16_t default_port(Scheme scheme) noexcept {
  if (scheme == Scheme::http || scheme == Scheme::grpc) return 80;
  return scheme == Scheme::https || scheme == Scheme::grpcs ? 443 : 0;
}

HostPort split_node_address(std::string_view address) {
  const auto port_of = [](std::string_view digits) -> std::optional<std::int64_t> {
    return text::to_int<std::int64_t>(digits);
  };
  if (!address.empty() && address.front() == '[') {
    const auto close = address.find(']');
    if (close == std::string_view::npos) return {std::string(address), std::nullopt};
    HostPort out{std::string(address.substr(1, close - 1)), std::nullopt};
    if (close + 1 < address.size() && address[close + 1] == ':') out.port = port_of(address.substr(close + 2));
    return out;
  }
  const auto colon = address.find(':');
  if (colon == std::string_view::npos) return {std::string(address), std::nullopt};
  if (address.find(':', colon + 1) != std::string_view::npos &&
      address.substr(0, colon).find('.') == std::string_view::npos)
    return {std::string(address), std::nullopt};  // a bare IPv6 address
  const auto last = address.rfind(':');
  return {std::string(address.substr(0, last)), port_of(address.substr(last + 1))};
}

static bool read_value(const Json& v, Scheme& out) { return read_name(v, kSchemes, out); }
static bool read_value(const Json& v, HashOn& out) { return read_name(v, kHashOn, out); }
static bool read_value(const Json& v, PassHost& out) { return read_name(v, kPassHost, out); }
static bool read_value(const Json& v, CheckType& out) { return read_name(v, kCheckTypes, out); }

Result<void> read_value(const Json& v, Timeout& out) {
  parse::Fields f{v, {}};
  f.read("connect", out.connect).read("send", out.send).read("read", out.read);
  return f.failed ? Result<void>(f.error) : Result<void>();
}

static Result<void> read_value(const Json& v, KeepalivePool& out) {
  parse::Fields f{v, {}};
  f.read("size", out.size).read("idle_timeout", out.idle_timeout).read("requests", out.requests);
  return f.failed ? Result<void>(f.error) : Result<void>();
}

static Result<void> read_value(const Json& v, HealthyRule& out) {
  parse::Fields f{v, {}};
  f.read("interval", out.interval).read("http_statuses", out.http_statuses).read("successes", out.successes);
  return f.failed ? Result<void>(f.error) : Result<void>();
}

static Result<void> read_value(const Json& v, UnhealthyRule& out) {
  parse::Fields f{v, {}};
  f.read("interval", out.interval).read("http_statuses", out.http_statuses).read("http_failures", out.http_failures);
  f.read("tcp_failures", out.tcp_failures).read("timeouts", out.timeouts);
  return f.failed ? Result<void>(f.error) : Result<void>();
}

static Result<void> read_value(const Json& v, ActiveCheck& out) {
  parse::Fields f{v, {}};
  f.read("type", out.type).read("timeout", out.timeout).read("concurrency", out.concurrency).read("host", out.host);
  f.read("port", out.port).read("http_method", out.http_method).read("http_path", out.http_path);
  f.read("http_req_body", out.http_req_body).read("https_verify_certificate", out.https_verify_certificate);
  f.read("req_headers", out.req_headers).read("healthy", out.healthy).read("unhealthy", out.unhealthy);
  return f.failed ? Result<void>(f.error) : Result<void>();
}

static Result<void> read_value(const Json& v, PassiveCheck& out) {
  parse::Fields f{v, {}};
  f.read("type", out.type).read("healthy", out.healthy).read("unhealthy", out.unhealthy);
  return f.failed ? Result<void>(f.error) : Result<void>();
}

static Result<void> read_value(const Json& v, Checks& out) {
  parse::Fields f{v, {}};
  f.read("active", out.active).read("passive", out.passive);
  return f.failed ? Result<void>(f.error) : Result<void>();
}

static Result<void> read_value(const Json& v, UpstreamTls& out) {
  parse::Fields f{v, {}};
  f.read("client_cert", out.client_cert).read("client_key", out.client_key).read("verify", out.verify);
  f.id("client_cert_id", out.client_cert_id);
  return f.failed ? Result<void>(f.error) : Result<void>();
}

static Result<void> read_value(const Json& v, UpstreamNode& out) {
  parse::Fields f{v, {}};
  f.read("host", out.host).read("port", out.port).read("weight", out.weight).read("priority", out.priority);
  f.read("metadata", out.metadata);
  HostPort at = split_node_address(out.host);
  out.host = std::move(at.host);
  // A port that stands in `host` counts when there is none beside it.
  if (out.port == 0 && at.port && *at.port >= 1 && *at.port <= 65535) out.port = static_cast<std::uint16_t>(*at.port);
  return f.failed ? Result<void>(f.error) : Result<void>();
}

namespace {

Result<void> read_nodes(const Json& nodes, std::vector<UpstreamNode>& out) {
  if (nodes.IsArray()) return schema::read_into(nodes, out);
  for (const auto& m : nodes.GetObject()) {
    HostPort at = split_node_address(text_of(m.name));
    UpstreamNode node;
    node.host = std::move(at.host);
    node.port = static_cast<std::uint16_t>(at.port.value_or(0));
    if (auto read = schema::read_into(m.value, node.weight); !read) return read;
    out.push_back(std::move(node));
  }
  return {};
}

}  // namespace

namespace parse {

Result<Upstream> upstream(const Json& value) {
  Upstream u;
  Fields f{value, {}};
  f.id("id", u.id).read("name", u.name).read("labels", u.labels).read("type", u.type_text);
  if (!read_name(Json(rapidjson::StringRef(u.type_text.data(), u.type_text.size())), kBalancers, u.type))
    u.type = BalancerType::unknown;
  if (const Json* nodes = find(value, "nodes")) {
    u.has_nodes = true;
    if (auto read = read_nodes(*nodes, u.nodes); !read) return read.error();
  }
  f.read("service_name", u.service_name).read("discovery_type", u.discovery_type);
  f.read("discovery_args", u.discovery_args).read("hash_on", u.hash_on).read("key", u.key).read("scheme", u.scheme);
  f.read("retries", u.retries).read("retry_timeout", u.retry_timeout).read("timeout", u.timeout);
  f.read("pass_host", u.pass_host).read("upstream_host", u.upstream_host).read("checks", u.checks);
  f.read("keepalive_pool", u.keepalive_pool).read("tls", u.tls);
  if (f.failed) return f.error;
  return u;
}

}  // namespace parse

Result<Upstream> parse_upstream(const Json& value) {
  auto doc = parse::validated(Kind::upstream, value);
  if (!doc) return doc.error();
  return parse::upstream(*doc);
}

}  // namespace sluice::conf
