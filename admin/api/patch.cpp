#include "admin/api/patch.hpp"

namespace sluice::admin {

namespace {
Json copy_of(const Json& value, JsonDoc::AllocatorType& alloc) { return Json(value, alloc); }

// What null members of a new object mean: they are not there.
void strip_nulls(Json& value) {
  if (!value.IsObject()) return;
  for (auto m = value.MemberBegin(); m != value.MemberEnd();) {
    if (m->value.IsNull()) {
      m = value.EraseMember(m);
      continue;
    }
    strip_nulls(m->value);
    ++m;
  }
}
}  // namespace

void merge_patch(Json& target, const Json& patch, JsonDoc::AllocatorType& alloc) {
  for (auto m = patch.MemberBegin(); m != patch.MemberEnd(); ++m) {
    const auto at = target.FindMember(m->name);
    if (m->value.IsNull()) {
      if (at != target.MemberEnd()) target.EraseMember(at);
    } else if (at == target.MemberEnd()) {
      Json value = copy_of(m->value, alloc);
      strip_nulls(value);
      target.AddMember(copy_of(m->name, alloc), value, alloc);
    } else if (at->value.IsObject() && m->value.IsObject()) {
      merge_patch(at->value, m->value, alloc);
    } else {
      at->value = copy_of(m->value, alloc);
      strip_nulls(at->value);
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
    at = const_cast<Json*>(find(*at, path[i]));  // `at` itself may be changed
    if (!at->IsObject()) return invalid("invalid sub-path: " + so_far);
  }
  set_member(*at, path.back(), copy_of(value, alloc), alloc);
  return {};
}

}  // namespace sluice::admin
