// The generic CRUD: every kind goes through these functions; what differs is in the table of kinds and in ResourcePath.
#include "admin/api/api.hpp"
#include "admin/api/listing.hpp"
#include "admin/api/patch.hpp"
#include "admin/api/references.hpp"

namespace sluice::admin {

using conf::Kind;

namespace {

std::string word_of(Kind kind) { return std::string(conf::info(kind).word); }

Json text_value(std::string_view text, JsonDoc::AllocatorType& alloc) {
  return Json(text.data(), static_cast<rapidjson::SizeType>(text.size()), alloc);
}

void set_text(Json& object, const char* name, std::string_view text, JsonDoc::AllocatorType& alloc) {
  set_member(object, name, text_value(text, alloc), alloc);
}

Subject subject_of(const ResourcePath& path, std::string_view bare_id) {
  Subject s;
  s.kind = path.kind;
  s.id = path.full_id(bare_id);
  s.key = conf::join_key(path.kind, s.id);
  return s;
}

// The id that the body itself gives, as text; empty: none.
std::string body_id(Kind kind, const Json& body) {
  const Json* id = find(body, kind == Kind::consumer ? "username" : "id");
  if (id == nullptr) return {};
  std::string text = conf::id_text(*id);
  // A secret's own id has its manager before it.
  if (kind == Kind::secret && text.find('/') != std::string::npos) text.erase(0, text.rfind('/') + 1);
  return text;
}

void put_value(std::string& out, const Sealer& sealer, Kind kind, const Object& object) {
  JsonBox shown(object.plain.value());
  sealer.redact(kind, shown.value(), shown.alloc());
  out += to_json(shown.value());
}

// Entries of a collection itself, not of collections nested in it.
bool nested_below(std::string_view key, std::string_view prefix, Kind kind) {
  return kind != Kind::secret && key.substr(prefix.size()).find('/') != std::string_view::npos;
}

}  // namespace

void Api::resource(const CallRef& call, const ResourcePath& path) {
  const std::string& method = call->request->method;
  const conf::KindInfo& kind = conf::info(path.kind);
  const bool offered = (method != "POST" || kind.post) && (method != "PATCH" || kind.patch);
  if (!offered)
    return refuse(call, Refusal{405, "not supported `" + method + "` method for " + word_of(path.kind), {}});
  if (method == "PATCH") return patch(call, path);
  if (method == "DELETE") return remove(call, path);
  if (method == "GET") return path.id.empty() ? get_list(call, path) : get_one(call, subject_of(path, path.id));
  put_or_post(call, path, method == "POST");
}

std::string Api::member_of(const Object& object) const {
  const auto split = conf::split_key(object.key);
  std::string out = "{\"key\":" + answer_key(object.key) + ",\"value\":";
  put_value(out, services_.configuration.sealer(), split ? split->kind : Kind::route, object);
  return out + ",\"createdIndex\":" + std::to_string(object.created) +
         ",\"modifiedIndex\":" + std::to_string(object.modified) + "}";
}

void Api::get_one(const CallRef& call, const Subject& subject) const {
  const Object* object = services_.configuration.image().find_committed(subject.key);
  if (object == nullptr) return answer(call, not_found_answer());
  answer(call, json_answer(200, member_of(*object)));
}

void Api::get_list(const CallRef& call, const ResourcePath& path) const {
  const auto listing = Listing::from(*call->request, path.kind);
  if (!listing) return answer(call, text_answer(listing.error().status, listing.error().message));
  const std::string prefix =
      path.kind == Kind::secret ? std::string("secrets/") : conf::join_key(path.kind, path.full_id(""));
  std::vector<const Object*> objects;
  bool any = false;
  services_.configuration.image().each_committed(prefix, [&](const Object& object) {
    if (nested_below(object.key, prefix, path.kind)) return true;
    any = true;
    if (listing->takes(object.plain.value())) objects.push_back(&object);
    return true;
  });
  if (!any && !conf::info(path.kind).parent.empty()) return answer(call, not_found_answer());
  std::string body = "{\"total\":" + std::to_string(objects.size()) + ",\"list\":[";
  bool first = true;
  for (const Object* object : listing->page(std::move(objects))) {
    if (!first) body += ',';
    first = false;
    body += member_of(*object);
  }
  answer(call, json_answer(200, body + "]}"));
}

// Whether body and path agree on the id, and which one it is.
Outcome<Subject> Api::subject_for_write(const Call& call, const ResourcePath& path, bool post) const {
  if (!call.has_body || call.body.IsNull()) return bad_request("missing configurations");
  const std::string word = word_of(path.kind);
  if (path.kind == Kind::plugin_metadata) {
    if (path.id.empty()) return bad_request("missing plugin name");
    return subject_of(path, path.id);
  }
  if (path.kind == Kind::secret && conf::secret_node(path.parent) == nullptr)
    return bad_request("invalid secret manager: " + path.parent);
  const std::string given = body_id(path.kind, call.body);
  if (path.kind == Kind::consumer) return subject_of(path, given.empty() ? path.id : given);
  const bool has_given = find(call.body, "id") != nullptr;
  if (post) {
    if (!path.id.empty() || has_given) return bad_request("wrong " + word + " id, do not need it");
    std::string id = std::to_string(services_.configuration.next_revision());
    return subject_of(path, std::string(id.size() < 20 ? 20 - id.size() : 0, '0') + id);
  }
  if (path.id.empty() && !has_given) return bad_request("missing " + word + " id");
  if (!path.id.empty() && has_given && given != path.id) return bad_request("wrong " + word + " id");
  return subject_of(path, path.id.empty() ? given : path.id);
}

// Gives the value what the path says of it, and checks it whole.
Outcome<void> Api::fit(const Subject& subject, const ResourcePath& path, JsonBox& box) {
  Json& value = box.value();
  if (subject.kind == Kind::cost_decoration && value.IsObject()) {
    const Json* service = find(value, "service_id");
    if (service != nullptr && conf::id_text(*service) != path.parent)
      return bad_request("wrong service_id, it is taken from the path");
    set_text(value, "service_id", path.parent, box.alloc());
  }
  services_.configuration.sealer().open_keys(subject.kind, value, box.alloc());
  return services_.checker.check(subject, value);
}

void Api::put_or_post(const CallRef& call, const ResourcePath& path, bool post) {
  auto subject = subject_for_write(*call, path, post);
  if (!subject) return refuse(call, subject.error());
  auto box = std::make_shared<JsonBox>(call->body);
  Json& value = box->value();
  if (std::string m = forbidden_times(value); !m.empty()) return refuse(call, bad_request(std::move(m)));
  if (value.IsObject() && path.kind != Kind::consumer) {
    if (path.kind == Kind::secret || path.kind == Kind::plugin_metadata)
      set_text(value, "id", subject->id, box->alloc());
    else if (post || !path.id.empty())
      set_text(value, "id", subject->id.substr(subject->id.rfind('/') + 1), box->alloc());
  }
  if (auto good = fit(*subject, path, *box); !good) return refuse(call, good.error());
  if (path.kind == Kind::consumer && !path.id.empty() && subject->id != path.id)
    return refuse(call, bad_request("wrong username"));
  const Object* before = services_.configuration.image().find(subject->key);
  if (conf::info(path.kind).times) {
    const auto now = static_cast<std::int64_t>(services_.wall_ms() / 1000);
    const Json* created = before != nullptr ? find(before->plain.value(), "create_time") : nullptr;
    set_member(value, "create_time", created != nullptr ? Json(*created, box->alloc()) : Json(now), box->alloc());
    set_member(value, "update_time", Json(now), box->alloc());
  }
  store_value(call, std::move(*subject), std::move(box), before == nullptr ? 201 : 200);
}

void Api::patch(const CallRef& call, const ResourcePath& path) {
  if (path.id.empty())
    return refuse(call,
                  bad_request(path.kind == Kind::secret ? "no secret id" : "missing " + word_of(path.kind) + " id"));
  if (!call->has_body) return refuse(call, bad_request("missing new configuration"));
  if (!path.sub.empty() && !conf::info(path.kind).sub_path)
    return refuse(call, bad_request("invalid sub-path: /" + path.sub.front()));
  if (path.sub.empty() && !call->body.IsObject()) return refuse(call, bad_request("invalid configuration"));
  if (path.kind == Kind::cost_decoration && find(call->body, "service_id") != nullptr)
    return refuse(call, bad_request("service_id can not be patched"));
  const Subject subject = subject_of(path, path.id);
  const Object* before = services_.configuration.image().find(subject.key);
  if (before == nullptr) return answer(call, not_found_answer());
  auto box = std::make_shared<JsonBox>(before->plain.value());
  if (path.sub.empty()) {
    merge_patch(box->value(), call->body, box->alloc());
  } else if (auto done = replace_at(box->value(), path.sub, call->body, box->alloc()); !done) {
    return refuse(call, bad_request(done.error().reason));
  }
  if (conf::info(path.kind).times && (!path.sub.empty() || find(call->body, "update_time") == nullptr) &&
      (path.sub.empty() || path.sub[0] != "update_time"))
    set_member(box->value(), "update_time", Json(static_cast<std::int64_t>(services_.wall_ms() / 1000)), box->alloc());
  if (find(box->value(), "id") != nullptr && body_id(path.kind, box->value()) != path.id)
    return refuse(call, bad_request("wrong " + word_of(path.kind) + " id"));
  set_text(box->value(), "id", path.kind == Kind::secret ? subject.id : path.id, box->alloc());
  if (auto good = fit(subject, path, *box); !good) return refuse(call, good.error());
  store_value(call, subject, std::move(box), 200);
}

void Api::store_value(const CallRef& call, Subject subject, std::shared_ptr<JsonBox> value, unsigned status) {
  JsonBox sealed(value->value());
  services_.configuration.sealer().seal(subject.kind, subject.id, sealed.value(), sealed.alloc());
  http::Response good =
      json_answer(status, "{\"key\":" + answer_key(subject.key) + ",\"value\":" + to_json(sealed.value()) + "}");
  std::vector<Edit> edits;
  edits.push_back({std::move(subject.key), std::move(value), call->expires_ms});
  services_.configuration.write(std::move(edits),
                                [this, call, good = std::move(good)](const Result<Written>& result) mutable {
                                  finish_write(call, result, std::move(good));
                                });
}

void Api::remove(const CallRef& call, const ResourcePath& path) {
  if (path.id.empty()) return refuse(call, bad_request("missing " + word_of(path.kind) + " id"));
  const Subject subject = subject_of(path, path.id);
  const Image& image = services_.configuration.image();
  if (image.find(subject.key) == nullptr) return answer(call, not_found_answer());
  if (call->request->arg("force").value_or("") != "true")
    if (Refusal refusal = refuse_delete(image, subject.kind, subject.id); refusal.status != 0)
      return refuse(call, refusal);
  std::vector<Edit> edits;
  edits.push_back({subject.key, nullptr, 0});
  if (subject.kind == Kind::consumer || subject.kind == Kind::service)  // what is nested below goes with it
    image.each(subject.key + "/", [&](const Object& below) {
      edits.push_back({below.key, nullptr, 0});
      return true;
    });
  http::Response good = json_answer(200, "{\"deleted\":\"1\",\"key\":" + answer_key(subject.key) + "}");
  services_.configuration.write(std::move(edits),
                                [this, call, good = std::move(good)](const Result<Written>& result) mutable {
                                  finish_write(call, result, std::move(good));
                                });
}

void Api::finish_write(const CallRef& call, const Result<Written>& result, http::Response good) const {
  if (!result) return refuse(call, Refusal{503, result.error().reason, {}});
  good.with("X-Sluice-Revision", std::to_string(result->revision))
      .with("X-Sluice-Applied", std::to_string(result->applied) + "/" + std::to_string(result->workers));
  answer(call, std::move(good));
}

}  // namespace sluice::admin
