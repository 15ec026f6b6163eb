#include "admin/api/references.hpp"

namespace sluice::admin {

namespace {

using conf::Kind;

std::string id_member(const Json& value, const char* name) {
  const Json* member = find(value, name);
  return member == nullptr ? std::string() : conf::id_text(*member);
}

std::string absent(std::string_view what, const std::string& id) {
  return "failed to fetch " + std::string(what) + " info by " + std::string(what) + " id [" + id +
         "], response code: 404";
}

const Object* lookup(const Image& image, Kind kind, const std::string& id) {
  return image.find(conf::join_key(kind, id));
}

std::string check_id(const Image& image, const Json& value, const char* member, Kind kind, std::string_view what) {
  const std::string id = id_member(value, member);
  return id.empty() || lookup(image, kind, id) != nullptr ? std::string() : absent(what, id);
}

std::string check_tls(const Image& image, const Json& upstream) {
  const Json* tls = find(upstream, "tls");
  if (tls == nullptr) return {};
  const std::string id = id_member(*tls, "client_cert_id");
  if (id.empty()) return {};
  const Object* ssl = lookup(image, Kind::ssl, id);
  if (ssl == nullptr) return absent("ssl", id);
  const Json* type = find(ssl->plain.value(), "type");
  if (type == nullptr || text_of(*type) != "client")
    return "failed to fetch ssl info by ssl id [" + id + "], wrong ssl type";
  return {};
}

std::string check_superior(const Image& image, std::string_view own_id, const Json& value) {
  const Json* protocol = find(value, "protocol");
  if (protocol == nullptr) return {};
  const std::string id = id_member(*protocol, "superior_id");
  if (id.empty()) return {};
  if (id == own_id) return "stream route can not set itself as superior_id";
  const Object* superior = lookup(image, Kind::stream_route, id);
  if (superior == nullptr) return "failed to fetch stream routes[" + id + "], response code: 404";
  const Json* theirs = find(superior->plain.value(), "protocol");
  const Json* name = find(*protocol, "name");
  const Json* their_name = theirs != nullptr ? find(*theirs, "name") : nullptr;
  const std::string mine(name != nullptr ? text_of(*name) : "");
  const std::string other(their_name != nullptr ? text_of(*their_name) : "nil");
  if (mine != other)
    return "protocol mismatch: subordinate protocol [" + mine + "] does not match superior protocol [" + other + "]";
  return {};
}

// Does a traffic-split configuration name the upstream?
bool splits_to(const Json& value, std::string_view upstream) {
  const Json* plugins = find(value, "plugins");
  const Json* split = plugins != nullptr ? find(*plugins, "traffic-split") : nullptr;
  const Json* rules = split != nullptr ? find(*split, "rules") : nullptr;
  if (rules == nullptr || !rules->IsArray()) return false;
  for (const Json& rule : rules->GetArray()) {
    const Json* targets = find(rule, "weighted_upstreams");
    if (targets == nullptr || !targets->IsArray()) continue;
    for (const Json& target : targets->GetArray())
      if (id_member(target, "upstream_id") == upstream) return true;
  }
  return false;
}

bool transcodes_with(const Json& value, std::string_view proto) {
  const Json* plugins = find(value, "plugins");
  const Json* transcode = plugins != nullptr ? find(*plugins, "grpc-transcode") : nullptr;
  return transcode != nullptr && id_member(*transcode, "proto_id") == proto;
}

bool uses_client_cert(const Json& value, bool embedded, std::string_view ssl) {
  const Json* upstream = embedded ? find(value, "upstream") : &value;
  const Json* tls = upstream != nullptr ? find(*upstream, "tls") : nullptr;
  return tls != nullptr && id_member(*tls, "client_cert_id") == ssl;
}

struct Place {
  Kind kind;
  const char* word;    // "route" in "route [1]"
  const char* plural;  // in "plugin in <word> [1]"
};
constexpr Place kPluginPlaces[] = {
    {Kind::route, "route", "route"},
    {Kind::service, "service", "service"},
    {Kind::plugin_config, "plugin_config", "plugin_config"},
    {Kind::consumer, "consumer", "consumer"},
    {Kind::consumer_group, "consumer_group", "consumer_group"},
    {Kind::global_rule, "global_rule", "global_rules"},
};

template <class Test>
void collect(const Image& image, Kind kind, const std::string& word, std::vector<std::string>& out, Test test) {
  const std::string prefix = conf::join_key(kind, "");
  image.each(prefix, [&](const Object& object) {
    const std::string_view id = std::string_view(object.key).substr(prefix.size());
    if (id.find('/') == std::string_view::npos && test(object.plain.value()))
      out.push_back(word + " [" + std::string(id) + "]");
    return true;
  });
}

template <class Test>
void collect_plugins(const Image& image, const char* before, bool plural, std::vector<std::string>& out, Test test) {
  for (const Place& place : kPluginPlaces)
    collect(image, place.kind, std::string(before) + (plural ? place.plural : place.word), out, test);
}

void secret_referrers(const Image& image, std::string_view id, std::vector<std::string>& out) {
  const std::string mark = "$secret://" + std::string(id) + "/";
  image.each("", [&](const Object& object) {
    if (to_json(object.plain.value()).find(mark) == std::string::npos) return true;
    const auto split = conf::split_key(object.key);
    if (split) out.push_back(std::string(conf::info(split->kind).word) + " [" + split->id + "]");
    return true;
  });
}

}  // namespace

std::string missing_reference(const Image& image, Kind kind, std::string_view id, const Json& value) {
  const bool routed = kind == Kind::route || kind == Kind::service || kind == Kind::stream_route;
  if (kind == Kind::upstream) return check_tls(image, value);
  if (kind == Kind::consumer) return check_id(image, value, "group_id", Kind::consumer_group, "consumer group");
  if (!routed) return {};
  if (const Json* upstream = find(value, "upstream"))
    if (std::string m = check_tls(image, *upstream); !m.empty()) return m;
  if (std::string m = check_id(image, value, "upstream_id", Kind::upstream, "upstream"); !m.empty()) return m;
  if (kind != Kind::service)
    if (std::string m = check_id(image, value, "service_id", Kind::service, "service"); !m.empty()) return m;
  if (kind == Kind::route) return check_id(image, value, "plugin_config_id", Kind::plugin_config, "plugin config");
  return kind == Kind::stream_route ? check_superior(image, id, value) : std::string();
}

std::vector<std::string> referrers(const Image& image, Kind kind, std::string_view id) {
  std::vector<std::string> out;
  const auto names = [&](const char* member) {
    return [member, id](const Json& value) { return id_member(value, member) == id; };
  };
  switch (kind) {
    case Kind::upstream:
      collect(image, Kind::route, "route", out, names("upstream_id"));
      collect(image, Kind::service, "service", out, names("upstream_id"));
      collect(image, Kind::stream_route, "stream_route", out, names("upstream_id"));
      collect_plugins(image, "plugin in ", true, out, [&](const Json& v) { return splits_to(v, id); });
      break;
    case Kind::service:
      collect(image, Kind::route, "route", out, names("service_id"));
      collect(image, Kind::stream_route, "stream_route", out, names("service_id"));
      break;
    case Kind::plugin_config:
      collect(image, Kind::route, "route", out, names("plugin_config_id"));
      break;
    case Kind::consumer_group:
      collect(image, Kind::consumer, "consumer", out, names("group_id"));
      break;
    case Kind::proto:
      collect_plugins(image, "", false, out, [&](const Json& v) { return transcodes_with(v, id); });
      break;
    case Kind::stream_route:
      collect(image, Kind::stream_route, "stream route", out, [&](const Json& v) {
        const Json* protocol = find(v, "protocol");
        return protocol != nullptr && id_member(*protocol, "superior_id") == id;
      });
      break;
    case Kind::ssl:
      collect(image, Kind::upstream, "upstream", out, [&](const Json& v) { return uses_client_cert(v, false, id); });
      for (const auto& [k, w] : {std::pair{Kind::route, "route"}, std::pair{Kind::service, "service"},
                                 std::pair{Kind::stream_route, "stream_route"}})
        collect(image, k, w, out, [&](const Json& v) { return uses_client_cert(v, true, id); });
      break;
    case Kind::secret:
      secret_referrers(image, id, out);
      break;
    default:
      break;
  }
  return out;
}

Refusal refuse_delete(const Image& image, Kind kind, std::string_view id) {
  const std::vector<std::string> users = referrers(image, kind, id);
  if (users.empty()) return Refusal{0, {}, {}};
  const bool directly = kind == Kind::service || kind == Kind::stream_route;
  std::string message = "can not delete this " + std::string(conf::info(kind).word) +
                        (directly ? " directly, " : ", ") + users.front() + " is still using it " +
                        (kind == Kind::stream_route ? "as superior_id" : "now");
  std::string extra = ",\"references\":[";
  for (std::size_t i = 0; i < users.size(); ++i) extra += (i == 0 ? "" : ",") + json_string(users[i]);
  return Refusal{400, std::move(message), extra + "]"};
}

}  // namespace sluice::admin
