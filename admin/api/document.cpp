#include "admin/api/document.hpp"

#include <map>

#include "admin/api/references.hpp"
#include "conf/environment.hpp"
#include "conf/standalone.hpp"

namespace sluice::admin {

namespace {

using conf::Kind;

struct Finding {
  Kind kind;
  std::string id;
  std::size_t index;
  std::string message;
};

std::string json_of(const Finding& f) {
  std::string_view collection = conf::info(f.kind).collection;
  if (f.kind == Kind::credential) collection = "consumers";
  return "{\"resource_type\":" + json_string(collection) + ",\"resource_id\":" + json_string(f.id) +
         ",\"index\":" + std::to_string(f.index) + ",\"error\":" + json_string(f.message) + "}";
}

std::string json_of(const std::vector<Finding>& findings) {
  std::string out = "[";
  for (const Finding& f : findings) out += (out.size() > 1 ? "," : "") + json_of(f);
  return out + "]";
}

// What decides whether two routes take the same requests.
std::string match_of(const Json& route) {
  JsonDoc key(rapidjson::kObjectType);
  auto& alloc = key.GetAllocator();
  for (const char* name :
       {"uri", "uris", "host", "hosts", "methods", "remote_addr", "remote_addrs", "vars", "filter_func"})
    if (const Json* member = find(route, name)) set_member(key, name, Json(*member, alloc), alloc);
  return canonical_json(key);
}

double number_of(const Json& route, const char* name) {
  const Json* member = find(route, name);
  return member != nullptr && member->IsNumber() ? member->GetDouble() : 0;
}

std::vector<Finding> warnings_of(const conf::StandaloneDocument& document) {
  std::vector<Finding> out;
  Image image;
  for (const auto& item : document.items) {
    auto object = std::make_shared<Object>();
    object->key = conf::join_key(item.kind, item.id);
    object->plain = JsonBox(item.value.get());
    image.load(std::move(object));
  }
  std::map<std::string, const conf::StandaloneItem*> seen;
  for (const auto& item : document.items) {
    const Json& value = item.value.get();
    if (std::string m = missing_reference(image, item.kind, item.id, value); !m.empty())
      out.push_back({item.kind, item.id, item.index, std::move(m)});
    const Json* status = find(value, "status");
    if (item.kind != Kind::route || (status != nullptr && status->IsNumber() && status->GetDouble() == 0)) continue;
    const auto [at, fresh] = seen.try_emplace(match_of(value), &item);
    if (fresh) continue;
    const conf::StandaloneItem* other = at->second;
    const bool wins = number_of(value, "priority") > number_of(other->value.get(), "priority");
    const conf::StandaloneItem& hidden = wins ? *other : item;
    const conf::StandaloneItem& front = wins ? item : *other;
    out.push_back(
        {Kind::route, hidden.id, hidden.index, "never reached: route [" + front.id + "] matches the same requests"});
    if (wins) at->second = &item;
  }
  return out;
}

void check_versions(const Json& document, std::vector<Finding>& errors) {
  for (auto m = document.MemberBegin(); m != document.MemberEnd(); ++m) {
    const std::string_view name = text_of(m->name);
    constexpr std::string_view kEnd = "_conf_version";
    if (!name.ends_with(kEnd) || m->value.IsNumber()) continue;
    const auto kind = conf::kind_of_collection(name.substr(0, name.size() - kEnd.size()));
    if (kind) errors.push_back({*kind, "", 0, std::string(name) + " must be a number, got " + type_name(m->value)});
  }
}

}  // namespace

Outcome<DocumentReport> validate_document(Checker& checker, std::string_view text, bool yaml) {
  std::vector<Finding> errors;
  conf::StandaloneDocument document;
  if (yaml) {
    conf::StandaloneOptions options;
    options.needs_end_flag = false;
    options.substitute = false;
    auto parsed = conf::parse_standalone(text, "request body", conf::process_environment(), options);
    if (!parsed) return bad_request("invalid yaml request body: " + parsed.error().reason);
    document = std::move(*parsed);
  } else {
    auto json = parse_json(text);
    if (!json) return bad_request("invalid request body: " + json.error().reason);
    if (!json->IsObject())
      return bad_request(std::string("invalid request body: expected object, got ") + type_name(*json));
    check_versions(*json, errors);
    auto parsed = conf::read_standalone(*json);
    if (!parsed) return bad_request("invalid request body: " + parsed.error().reason);
    document = std::move(*parsed);
  }
  for (const auto& e : document.errors) errors.push_back({e.kind, e.id, e.index, e.message});
  for (const auto& item : document.items) {
    if (item.kind == Kind::plugins) continue;
    const Subject subject{item.kind, item.id, conf::join_key(item.kind, item.id)};
    if (auto good = checker.check_alone(subject, item.value.get(), false); !good)
      errors.push_back({item.kind, item.id, item.index, good.error().message});
  }
  const std::vector<Finding> warnings = warnings_of(document);
  const std::string tail = warnings.empty() ? "" : "\"warnings\":" + json_of(warnings);
  if (errors.empty()) return DocumentReport{true, "{" + tail + "}", std::move(document)};
  std::string body = "{\"error_msg\":\"Configuration validation failed\",\"errors\":" + json_of(errors) +
                     (tail.empty() ? "" : "," + tail) + "}";
  return DocumentReport{false, std::move(body), std::move(document)};
}

}  // namespace sluice::admin
