// Cross-field rules of the resources: see check.hpp. Everything here works on JSON, with or without defaults.
#include "conf/model/check.hpp"

#include "conf/base/cidr.hpp"
#include "conf/base/pcre.hpp"
#include "conf/model/certificates.hpp"
#include "conf/model/upstream.hpp"
#include "conf/schema/schema.hpp"

namespace sluice::conf {
namespace {

std::string_view member_text(const Json& object, std::string_view name) noexcept {
  const Json* v = find(object, name);
  return v == nullptr ? std::string_view() : text_of(*v);
}

bool literal(std::string_view text) noexcept { return !text.empty() && !schema::is_secret_reference(text); }

// ---- upstream

std::string check_nodes(const Json& upstream, const CheckOptions& options) {
  const Json* nodes = find(upstream, "nodes");
  if (nodes == nullptr) return {};
  if (nodes->IsObject()) {
    for (const auto& m : nodes->GetObject()) {
      const auto port = split_node_address(text_of(m.name)).port;
      if (port && (*port < 1 || *port > 65535)) return "invalid port " + std::to_string(*port);
    }
  } else if (nodes->IsArray() && options.from_admin) {
    for (const auto& node : nodes->GetArray()) {
      const std::string_view host = member_text(node, "host");
      if (is_ipv6_text(host)) return "invalid configuration: IPv6 address must be enclosed with '[' and ']'";
    }
  }
  return {};
}

std::string check_hash_key(const Json& upstream) {
  static const Regex kVars = *Regex::compile(
      "^((uri|server_name|server_addr|request_uri|remote_port|remote_addr|query_string|host|hostname|mqtt_client_id)"
      "|arg_[0-9a-zA-z_-]+)$");
  static const Regex kName = *Regex::compile("^[a-zA-Z0-9-_]+$");
  if (member_text(upstream, "type") != "chash") return {};
  const std::string_view on = member_text(upstream, "hash_on");
  if (on == "consumer") return {};
  const Json* key = find(upstream, "key");
  if (key == nullptr) return "missing key";
  const Regex* rule = on.empty() || on == "vars" ? &kVars : on == "header" || on == "cookie" ? &kName : nullptr;
  if (rule != nullptr && !rule->search(text_of(*key)))
    return "invalid configuration: failed to match pattern \"" + rule->pattern() + "\" with \"" +
           std::string(text_of(*key)) + "\"";
  return {};
}

std::string check_pair(std::string_view certificate, std::string_view key, const CheckOptions& options) {
  if (literal(certificate))
    if (const std::string error = check_certificate(certificate); !error.empty())
      return "failed to parse cert: " + error;
  if (!literal(key)) return {};
  std::string plain(key);
  if (!looks_like_pem(key)) {
    if (options.decrypt_key != nullptr) plain = options.decrypt_key(key);
    if (plain.empty() || !looks_like_pem(plain)) return "failed to decrypt previous encrypted key";
  }
  const std::string error = check_private_key(plain);
  return error.empty() ? error : "failed to parse key: " + error;
}

std::string check_upstream(const Json& upstream, const CheckOptions& options) {
  if (std::string error = check_nodes(upstream, options); !error.empty()) return error;
  if (member_text(upstream, "pass_host") == "rewrite" && member_text(upstream, "upstream_host").empty())
    return "`upstream_host` can't be empty when `pass_host` is `rewrite`";
  if (const Json* tls = find(upstream, "tls"))
    if (std::string error = check_pair(member_text(*tls, "client_cert"), member_text(*tls, "client_key"), options);
        !error.empty())
      return error;
  return check_hash_key(upstream);
}

// ---- ssl

std::string check_ssl(const Json& ssl, const CheckOptions& options) {
  if (std::string error = check_pair(member_text(ssl, "cert"), member_text(ssl, "key"), options); !error.empty())
    return error;
  const Json* certificates = find(ssl, "certs");
  const Json* keys = find(ssl, "keys");
  const std::size_t n = certificates != nullptr && certificates->IsArray() ? certificates->Size() : 0;
  if (n != (keys != nullptr && keys->IsArray() ? keys->Size() : 0)) return "mismatched number of certs and keys";
  for (rapidjson::SizeType i = 0; i < n; ++i)
    if (std::string error = check_pair(text_of((*certificates)[i]), text_of((*keys)[i]), options); !error.empty())
      return "failed to handle cert-key pair[" + std::to_string(i + 1) + "]: " + error;
  if (const Json* client = find(ssl, "client"))
    if (std::string error = check_pair(member_text(*client, "ca"), {}, options); !error.empty())
      return "failed to validate client_cert: " + error;
  return {};
}

// ---- stream route

std::string check_stream_route(const Json& route) {
  for (const char* name : {"remote_addr", "server_addr"}) {
    const std::string_view address = member_text(route, name);
    if (!address.empty() && !Cidr::parse(address)) return "invalid " + std::string(name) + ": " + std::string(address);
  }
  if (const Json* protocol = find(route, "protocol"))
    return "unknown protocol [" + std::string(member_text(*protocol, "name")) + "]";
  return {};
}

std::string check_scripts(Kind kind, const Json& value) {
  if (kind == Kind::route && find(value, "filter_func") != nullptr)
    return "failed to load 'filter_func' string: scripting is not available";
  if ((kind == Kind::route || kind == Kind::service) && find(value, "script") != nullptr)
    return "failed to load 'script' string: scripting is not available";
  return {};
}

}  // namespace

std::string check_before_schema(Kind kind, const Json& value) {
  if (kind != Kind::route) return {};
  if (find(value, "host") != nullptr && find(value, "hosts") != nullptr) return "only one of host or hosts is allowed";
  if (find(value, "remote_addr") != nullptr && find(value, "remote_addrs") != nullptr)
    return "only one of remote_addr or remote_addrs is allowed";
  return {};
}

std::string check_schema(Kind kind, Json& value, JsonDoc::AllocatorType& alloc, bool fill_defaults,
                         const CheckOptions& options) {
  if (kind == Kind::secret) {
    const schema::Node* node = secret_node(options.manager);
    if (node == nullptr) return "invalid secret manager: " + std::string(options.manager);
    return schema::validate(*node, value, alloc, fill_defaults);
  }
  return schema::validate(node_of(kind), value, alloc, fill_defaults);
}

std::string check_after_schema(Kind kind, const Json& value, const CheckOptions& options) {
  switch (kind) {
    case Kind::upstream:
      return check_upstream(value, options);
    case Kind::ssl:
      return check_ssl(value, options);
    case Kind::proto: {
      const std::string error = check_proto(member_text(value, "content"));
      return error.empty() ? error : "invalid content: " + error;
    }
    case Kind::route:
    case Kind::service:
    case Kind::stream_route: {
      if (const Json* upstream = find(value, "upstream"))
        if (std::string error = check_upstream(*upstream, options); !error.empty()) return error;
      return kind == Kind::stream_route ? check_stream_route(value) : check_scripts(kind, value);
    }
    default:
      return {};
  }
}

std::string check_all(Kind kind, Json& value, JsonDoc::AllocatorType& alloc, bool fill_defaults,
                      const CheckOptions& options) {
  if (std::string error = check_before_schema(kind, value); !error.empty()) return error;
  if (std::string error = check_schema(kind, value, alloc, fill_defaults, options); !error.empty())
    return "invalid configuration: " + error;
  return check_after_schema(kind, value, options);
}

}  // namespace sluice::conf
