#include "admin/control/in_memory.hpp"

#include "conf/base/cidr.hpp"
#include "conf/model/check.hpp"
#include "conf/model/upstream.hpp"

namespace sluice::admin {

namespace {

using Alloc = JsonDoc::AllocatorType;

Json text(std::string_view s, Alloc& alloc) {
  return Json(s.data(), static_cast<rapidjson::SizeType>(s.size()), alloc);
}

std::uint16_t port_of_scheme(const Json& upstream) {
  const Json* scheme = find(upstream, "scheme");
  const std::string_view name = scheme != nullptr ? text_of(*scheme) : "http";
  if (name == "https" || name == "grpcs") return 443;
  return name == "http" || name == "grpc" ? 80 : 0;
}

void nodes_to_array(Json& upstream, Alloc& alloc) {
  auto at = upstream.FindMember("nodes");
  if (at == upstream.MemberEnd() || !at->value.IsObject()) return;
  Json list(rapidjson::kArrayType);
  for (auto m = at->value.MemberBegin(); m != at->value.MemberEnd(); ++m) {
    const conf::HostPort address = conf::split_node_address(text_of(m->name));
    Json node(rapidjson::kObjectType);
    set_member(node, "host", text(address.host, alloc), alloc);
    const std::int64_t port = address.port.value_or(port_of_scheme(upstream));
    if (port != 0) set_member(node, "port", Json(port), alloc);
    set_member(node, "weight", Json(m->value, alloc), alloc);
    list.PushBack(node, alloc);
  }
  at->value = list;
}

bool names_a_domain(const Json& upstream) {
  const Json* nodes = find(upstream, "nodes");
  if (nodes == nullptr || !nodes->IsArray()) return false;
  for (const Json& node : nodes->GetArray())
    if (const Json* host = find(node, "host"); host != nullptr && !parse_ip(text_of(*host))) return true;
  return false;
}

void show_upstream(Json& upstream, Alloc& alloc, bool& has_domain) {
  nodes_to_array(upstream, alloc);
  has_domain = has_domain || names_a_domain(upstream);
  const auto tls = upstream.FindMember("tls");
  if (tls != upstream.MemberEnd() && tls->value.IsObject()) tls->value.RemoveMember("client_key");
}

}  // namespace

std::string in_memory_form(conf::Kind kind, const Json& stored, bool& has_domain) {
  JsonDoc value;
  auto& alloc = value.GetAllocator();
  value.CopyFrom(stored, alloc);
  conf::CheckOptions options;
  options.from_admin = false;
  (void)conf::check_schema(kind, value, alloc, true, options);  // for the defaults; it was valid when it was stored
  if (kind == conf::Kind::upstream) {
    show_upstream(value, alloc, has_domain);
  } else if (const auto at = value.FindMember("upstream"); at != value.MemberEnd() && at->value.IsObject()) {
    show_upstream(at->value, alloc, has_domain);
  }
  return to_json(value);
}

}  // namespace sluice::admin
