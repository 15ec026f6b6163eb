// What is known of a request before any plugin runs: addresses, path, and a list of fields in which nothing is left that
// the client could use to speak for the gateway.
#include <charconv>
#include <cstring>

#include "worker/exchange/exchange.hpp"

namespace sluice::worker {

using sdk::Field;
using sdk::FieldId;

namespace {

std::string_view number_text(sdk::Arena& arena, std::uint64_t n) noexcept {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
  return arena.copy({digits, static_cast<std::size_t>(end - digits)});
}

// Fields that Connection may not take away: they frame, route or speak for the gateway.
bool protected_from_connection(FieldId id) noexcept {
  switch (id) {
    case FieldId::other:
    case FieldId::cookie:
    case FieldId::user_agent:
    case FieldId::referer:
    case FieldId::content_type: return false;
    default: return true;
  }
}

// "X_Forwarded_For" and its kind: another spelling of a name that the gateway is believed for.
bool misspells_trusted_name(std::string_view name) noexcept {
  if (name.size() > 32 || std::memchr(name.data(), '_', name.size()) == nullptr) return false;
  char plain[32];
  for (std::size_t i = 0; i < name.size(); ++i) plain[i] = name[i] == '_' ? '-' : name[i];
  switch (sdk::classify_field({plain, name.size()})) {
    case FieldId::x_forwarded_for:
    case FieldId::x_forwarded_proto:
    case FieldId::x_forwarded_host:
    case FieldId::x_forwarded_port:
    case FieldId::x_real_ip:
    case FieldId::x_consumer_username:
    case FieldId::x_credential_identifier:
    case FieldId::x_consumer_custom_id:
    case FieldId::host:
    case FieldId::content_length:
    case FieldId::transfer_encoding: return true;
    default: return false;
  }
}

std::string_view lowered(sdk::Arena& arena, std::string_view host) noexcept {
  if (!host.empty() && host.back() == '.') host.remove_suffix(1);
  bool upper = false;
  for (const char c : host) upper = upper || (c >= 'A' && c <= 'Z');
  if (!upper) return host;
  auto copy = arena.array<char>(host.size());
  for (std::size_t i = 0; i < host.size(); ++i)
    copy[i] = host[i] >= 'A' && host[i] <= 'Z' ? static_cast<char>(host[i] + 32) : host[i];
  return {copy.data(), copy.size()};
}

// An address that may carry a port: "1.2.3.4:80", "[::1]:80".
std::optional<IpAddress> read_address(std::string_view text, std::uint16_t& port) noexcept {
  port = 0;
  if (auto ip = parse_ip(text)) return ip;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto ip = parse_ip(text.substr(0, colon));
  const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  if (!ip || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return ip;
}

}  // namespace

void Exchange::learn_facts() noexcept {
  ctx_.process = &worker_.process;
  ctx_.peer_address = ctx_.client_address = session_.peer;
  ctx_.peer_port = ctx_.client_port = session_.peer_port;
  ctx_.peer_text = ctx_.client_text = session_.peer_text();
  ctx_.server_address_text = session_.server_text();
  ctx_.server_port = session_.server_port;
  ctx_.connection_id = session_.id;
  ctx_.connection_requests = session_.requests;
  ctx_.method = head_.method;
  ctx_.target = head_.target;
  ctx_.request_line = head_.line;
  ctx_.version_minor = head_.minor;
  ctx_.authority = head_.authority;
  ctx_.host = lowered(ctx_.arena, head_.host);
  ctx_.request_bytes = head_.size;
}

// The address that a trusted peer names: of a list the last one, or with real_ip_recursive the last untrusted one.
void Exchange::apply_real_ip() noexcept {
  const Settings& settings = worker_.settings;
  const bool trusted = session_.local_socket ? settings.real_ip_from_unix : settings.real_ip_from.contains(session_.peer);
  if (!trusted) return;
  const Field* field = ctx_.request_headers.find(settings.real_ip_header);
  if (field == nullptr) return;
  std::string_view list = field->value;
  std::optional<IpAddress> found;
  std::string_view text;
  std::uint16_t port = 0;
  while (!list.empty()) {
    const std::size_t comma = list.rfind(',');
    std::string_view part = comma == std::string_view::npos ? list : list.substr(comma + 1);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    std::uint16_t part_port = 0;
    const auto address = read_address(part, part_port);
    if (!address) break;
    found = address;
    port = part_port;
    text = part;
    if (!settings.real_ip_recursive || !settings.real_ip_from.contains(*address)) break;
  }
  if (!found) return;
  ctx_.client_address = *found;
  ctx_.client_port = port;
  if (port != 0) text = text.substr(0, text.rfind(':'));
  if (!text.empty() && text.front() == '[') text = text.substr(1, text.size() - 2);
  ctx_.client_text = text;
}

// One pass over the fields: out goes what Connection names (but nothing the gateway stands for), what misspells a
// trusted name, and forwarding fields that are not to be believed.
void Exchange::sanitise_fields() noexcept {
  const Settings& settings = worker_.settings;
  const bool believed = settings.trusted_configured && settings.trusted.contains(session_.peer);
  const bool keep_chain = !settings.trusted_configured || believed;
  std::string_view named[4];
  std::size_t named_count = 0;
  if (head_.names_fields) {
    for (const Field& f : ctx_.request_headers)
      if (f.id == FieldId::connection && named_count < 4) named[named_count++] = f.value;
  }
  ctx_.request_headers.remove_if([&](const Field& f) {
    switch (f.id) {
      case FieldId::x_forwarded_for:
        ctx_.original_forwarded_for = f.value;
        ctx_.forwarded_for_set = true;
        return !keep_chain;
      case FieldId::x_forwarded_proto:
        ctx_.original_forwarded_proto = f.value;
        ctx_.forwarded_proto_set = true;
        return !believed || f.value.empty();
      case FieldId::x_forwarded_host:
        ctx_.original_forwarded_host = f.value;
        ctx_.forwarded_host_set = true;
        return !believed || f.value.empty();
      case FieldId::x_forwarded_port:
        ctx_.original_forwarded_port = f.value;
        ctx_.forwarded_port_set = true;
        return !believed || f.value.empty();
      case FieldId::forwarded: ctx_.original_forwarded = f.value; return true;
      default: break;
    }
    if (head_.odd_names) {
      if (misspells_trusted_name(f.name)) return true;
      if (!settings.underscores_in_headers && f.name.find('_') != std::string_view::npos) return true;
    }
    for (std::size_t i = 0; i < named_count; ++i)
      if (!protected_from_connection(f.id) && list_has(named[i], f.name)) return true;
    return false;
  });
  set_forwarding_fields();
}

// What the gateway saw, where nobody trusted has said otherwise. X-Forwarded-For and X-Real-IP are written when the head
// for a node is composed, because a plugin may still change the client's address.
void Exchange::set_forwarding_fields() noexcept {
  auto& fields = ctx_.request_headers;
  if (!ctx_.forwarded_proto_set || fields.find(FieldId::x_forwarded_proto) == nullptr)
    fields.add("X-Forwarded-Proto", ctx_.scheme, FieldId::x_forwarded_proto);
  if (!ctx_.forwarded_host_set || fields.find(FieldId::x_forwarded_host) == nullptr) {
    const std::string_view host = ctx_.authority.empty() ? ctx_.server_address_text : ctx_.authority;
    fields.add("X-Forwarded-Host", host, FieldId::x_forwarded_host);
  }
  if (!ctx_.forwarded_port_set || fields.find(FieldId::x_forwarded_port) == nullptr) {
    const std::uint64_t port = head_.port != 0 ? head_.port : ctx_.server_port;
    fields.add("X-Forwarded-Port", number_text(ctx_.arena, port), FieldId::x_forwarded_port);
  }
}

bool Exchange::normalise() noexcept {
  if (head_.form == TargetForm::asterisk || head_.path_query == "*") {
    ctx_.path = "*";
    return true;
  }
  std::string_view raw = head_.path_query;
  if (raw.front() == '?') raw = ctx_.arena.concat({"/", raw});  // of an absolute target without a path
  head_.path_query = raw;
  router::NormalTarget normal;
  if (!router::normalise_target(raw, worker_.settings.normalise, ctx_.arena, normal)) return false;
  ctx_.path = normal.path;
  ctx_.query = normal.query;
  ctx_.has_query = normal.has_query;
  match_path_ = normal.match_path;
  if (!normal.upstream_uri.empty()) ctx_.upstream_uri = normal.upstream_uri;
  return true;
}

}  // namespace sluice::worker
