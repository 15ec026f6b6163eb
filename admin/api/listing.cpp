#include "admin/api/listing.hpp"

#include <algorithm>

#include "conf/base/text.hpp"

namespace sluice::admin {

namespace {

bool matches(const Regex& pattern, const Json* value) {
  return value != nullptr && value->IsString() && pattern.search(text_of(*value));
}

bool matches_any(const Regex& pattern, const Json* list) {
  if (list == nullptr || !list->IsArray()) return false;
  for (const Json& item : list->GetArray())
    if (matches(pattern, &item)) return true;
  return false;
}

}  // namespace

Outcome<Listing> Listing::from(const http::Request& request, conf::Kind kind) {
  Listing out;
  const auto pattern = [&](const char* arg, Regex& to) -> Outcome<void> {
    const auto text = request.arg(arg);
    if (!text || text->empty()) return boost::system::in_place_value;
    auto compiled = Regex::compile(*text);
    if (!compiled) return bad_request("invalid argument " + std::string(arg) + ": " + compiled.error().reason);
    to = std::move(*compiled);
    return boost::system::in_place_value;
  };
  if (auto done = pattern("name", out.name_); !done) return done.error();
  if (auto done = pattern("uri", out.uri_); !done) return done.error();
  out.label_ = request.arg("label").value_or("");
  if (kind == conf::Kind::route || kind == conf::Kind::stream_route) {
    const std::string filter = request.arg("filter").value_or("");
    for (std::string_view part : text::split(filter, '&')) {
      const auto eq = part.find('=');
      if (eq == std::string_view::npos) continue;
      const std::string name = text::percent_decode(part.substr(0, eq), true);
      if (name == "service_id" || name == "upstream_id")
        out.equals_.emplace_back(name, text::percent_decode(part.substr(eq + 1), true));
    }
  }
  const auto page = request.arg("page");
  const auto size = request.arg("page_size");
  const auto page_number = page ? text::to_double(*page) : std::nullopt;
  const auto size_number = size ? text::to_double(*size) : std::nullopt;
  if (page_number && size_number) {
    if (!(*size_number >= 10 && *size_number <= 500)) return bad_request("page_size must be between 10 and 500");
    out.paging_ = true;
    out.size_ = static_cast<std::uint64_t>(*size_number);
    out.page_ = *page_number >= 1 ? static_cast<std::uint64_t>(std::min(*page_number, 1e15)) : 1;
  }
  return out;
}

bool Listing::takes(const Json& value) const {
  if (name_ && !matches(name_, find(value, "name"))) return false;
  if (uri_ && !matches(uri_, find(value, "uri")) && !matches_any(uri_, find(value, "uris"))) return false;
  if (!label_.empty()) {
    const Json* labels = find(value, "labels");
    if (labels == nullptr || find(*labels, label_) == nullptr) return false;
  }
  for (const auto& [name, wanted] : equals_) {
    const Json* found = find(value, name);
    if (found == nullptr || !found->IsString() || text_of(*found) != wanted) return false;
  }
  return true;
}

std::vector<const Object*> Listing::page(std::vector<const Object*> objects) const {
  if (!paging_) return objects;
  std::stable_sort(objects.begin(), objects.end(),
                   [](const Object* a, const Object* b) { return a->created < b->created; });
  if (page_ - 1 > objects.size() / size_) return {};
  const std::size_t first = static_cast<std::size_t>((page_ - 1) * size_);
  if (first >= objects.size()) return {};
  const std::size_t last = std::min<std::size_t>(objects.size(), first + size_);
  return {objects.begin() + static_cast<std::ptrdiff_t>(first), objects.begin() + static_cast<std::ptrdiff_t>(last)};
}

}  // namespace sluice::admin
