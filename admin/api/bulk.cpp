#include "admin/api/bulk.hpp"

#include <map>

#include "admin/api/answers.hpp"

namespace sluice::admin {

namespace {

bool is_servers_own(std::string_view member) {
  return member == "create_time" || member == "update_time" || member == "id";
}

// Paths at which two values differ; objects are descended into, everything else is compared whole.
void differing(const Json& before, const Json& after, const std::string& at, std::vector<std::string>& out) {
  if (!before.IsObject() || !after.IsObject()) {
    if (!equal_json(before, after)) out.push_back(at);
    return;
  }
  const auto below = [&](std::string_view name) {
    return at.empty() ? std::string(name) : at + "." + std::string(name);
  };
  for (auto m = before.MemberBegin(); m != before.MemberEnd(); ++m) {
    const std::string_view name = text_of(m->name);
    if (at.empty() && is_servers_own(name)) continue;
    const Json* other = find(after, name);
    if (other == nullptr)
      out.push_back(below(name));
    else
      differing(m->value, *other, below(name), out);
  }
  for (auto m = after.MemberBegin(); m != after.MemberEnd(); ++m) {
    const std::string_view name = text_of(m->name);
    if (find(before, name) == nullptr && !(at.empty() && is_servers_own(name))) out.push_back(below(name));
  }
}

using Items = std::map<std::string, const conf::StandaloneItem*>;

Items by_key(const conf::StandaloneDocument& document) {
  Items out;
  for (const auto& item : document.items)
    if (item.kind != conf::Kind::plugins) out[conf::join_key(item.kind, item.id)] = &item;
  return out;
}

std::string list_of(const std::vector<std::string>& keys, const std::string& prefix) {
  std::string out = "[";
  for (const std::string& key : keys) out += (out.size() > 1 ? "," : "") + json_string(prefix + key);
  return out + "]";
}

std::shared_ptr<JsonBox> value_for(const conf::StandaloneItem& item, const Object* before, std::int64_t now_s) {
  auto box = std::make_shared<JsonBox>(item.value.get());
  Json& value = box->value();
  auto& alloc = box->alloc();
  if (find(value, "id") == nullptr && item.kind != conf::Kind::consumer) {
    const std::string id = item.kind == conf::Kind::secret ? item.id : item.id.substr(item.id.rfind('/') + 1);
    set_member(value, "id", Json(id.c_str(), static_cast<rapidjson::SizeType>(id.size()), alloc), alloc);
  }
  value.RemoveMember("modifiedIndex");
  if (conf::info(item.kind).times) {
    const Json* created = before != nullptr ? find(before->plain.value(), "create_time") : nullptr;
    if (find(value, "create_time") == nullptr)
      set_member(value, "create_time", created != nullptr ? Json(*created, alloc) : Json(now_s), alloc);
    if (find(value, "update_time") == nullptr) set_member(value, "update_time", Json(now_s), alloc);
  }
  return box;
}

}  // namespace

Difference difference(const Image& image, const conf::StandaloneDocument& document) {
  Difference out;
  const Items items = by_key(document);
  image.each("", [&](const Object& object) {
    const auto at = items.find(object.key);
    if (at == items.end()) {
      out.removed.push_back(object.key);
      return true;
    }
    std::vector<std::string> paths;
    differing(object.plain.value(), at->second->value.get(), "", paths);
    if (!paths.empty()) out.changed.push_back({object.key, std::move(paths)});
    return true;
  });
  for (const auto& [key, item] : items)
    if (image.find(key) == nullptr) out.added.push_back(key);
  return out;
}

std::string to_text(const Difference& d, const std::string& prefix) {
  std::string out = "{\"added\":" + list_of(d.added, prefix + "/") +
                    ",\"removed\":" + list_of(d.removed, prefix + "/") + ",\"changed\":[";
  bool first = true;
  for (const auto& change : d.changed) {
    out += (first ? "" : ",") + std::string("{\"key\":") + json_string(prefix + "/" + change.key) +
           ",\"paths\":" + list_of(change.paths, "") + "}";
    first = false;
  }
  return out + "]}";
}

std::vector<Edit> edits_for(const Image& image, const conf::StandaloneDocument& document, std::int64_t now_s) {
  std::vector<Edit> out;
  const Difference d = difference(image, document);
  const Items items = by_key(document);
  for (const std::string& key : d.removed) out.push_back({key, nullptr, 0});
  const auto put = [&](const std::string& key) {
    out.push_back({key, value_for(*items.at(key), image.find(key), now_s), 0});
  };
  for (const auto& change : d.changed) put(change.key);
  for (const std::string& key : d.added) put(key);
  return out;
}

}  // namespace sluice::admin
