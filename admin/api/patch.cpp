#include "admin/api/patch.hpp"

namespace sluice::admin {

namespace {

// A copy in which null members are not there: that is what they mean in a new object.
Json without_nulls(const Json& value, JsonDoc::AllocatorType& alloc) {
  if (!value.IsObject()) return Json(value, alloc);
  Json out(rapidjson::kObjectType);
  for (const auto& m : value.GetObject())
    if (!m.value.IsNull()) out.AddMember(Json(m.name, alloc), without_nulls(m.value, alloc), alloc);
  return out;
}

// The member as something that may be changed; nullptr when there is none.
Json* member(Json& object, std::string_view name) { return const_cast<Json*>(find(object, name)); }

}  // namespace

void merge_patch(Json& target, const Json& patch, JsonDoc::AllocatorType& alloc) {
  for (const auto& m : patch.GetObject()) {
    Json* at = member(target, text_of(m.name));
    if (m.value.IsNull()) {
      if (at != nullptr) target.EraseMember(m.name);
    } else if (at != nullptr && at->IsObject() && m.value.IsObject()) {
      merge_patch(*at, m.value, alloc);
    } else {
      set_member(target, text_of(m.name), without_nulls(m.value, alloc), alloc);
    }
  }
}

Result<void> replace_at(Json& target, const std::vector<std::string>& path, const Json& value,
                        JsonDoc::AllocatorType& alloc) {
  Json* at = &target;
  std::string so_far;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    so_far += "/" + path[i];
    if (find(*at, path[i]) == nullptr) set_member(*at, path[i], Json(rapidjson::kObjectType), alloc);
    at = member(*at, path[i]);
    if (!at->IsObject()) return invalid("invalid sub-path: " + so_far);
  }
  set_member(*at, path.back(), Json(value, alloc), alloc);
  return {};
}

}  // namespace sluice::admin
