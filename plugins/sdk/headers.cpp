#include "plugins/sdk/headers.hpp"

#include "conf/base/text.hpp"

namespace sluice::sdk {

bool same_field(std::string_view a, std::string_view b) noexcept { return text::iequal(a, b); }

namespace {
struct Known {
  std::string_view name;
  FieldId id;
};
// Ordered by length, so that a name is compared only with those of its own length.
constexpr Known kKnown[] = {
    {"te", FieldId::te},
    {"via", FieldId::via},
    {"host", FieldId::host},
    {"date", FieldId::date},
    {"cookie", FieldId::cookie},
    {"expect", FieldId::expect},
    {"server", FieldId::server},
    {"referer", FieldId::referer},
    {"trailer", FieldId::trailer},
    {"upgrade", FieldId::upgrade},
    {"forwarded", FieldId::forwarded},
    {"x-real-ip", FieldId::x_real_ip},
    {"connection", FieldId::connection},
    {"keep-alive", FieldId::keep_alive},
    {"user-agent", FieldId::user_agent},
    {"content-type", FieldId::content_type},
    {"max-forwards", FieldId::max_forwards},
    {"content-length", FieldId::content_length},
    {"http2-settings", FieldId::http2_settings},
    {"x-forwarded-for", FieldId::x_forwarded_for},
    {"proxy-connection", FieldId::proxy_connection},
    {"x-forwarded-host", FieldId::x_forwarded_host},
    {"x-forwarded-port", FieldId::x_forwarded_port},
    {"x-forwarded-proto", FieldId::x_forwarded_proto},
    {"transfer-encoding", FieldId::transfer_encoding},
    {"x-consumer-username", FieldId::x_consumer_username},
    {"x-consumer-custom-id", FieldId::x_consumer_custom_id},
    {"x-credential-identifier", FieldId::x_credential_identifier},
};
constexpr std::size_t kLongest = 23;

// first[n]: index of the first known name of length n or more.
constexpr auto kFirst = [] {
  std::array<std::uint8_t, kLongest + 2> first{};
  std::size_t at = 0;
  for (std::size_t n = 0; n < first.size(); ++n) {
    while (at < std::size(kKnown) && kKnown[at].name.size() < n) ++at;
    first[n] = static_cast<std::uint8_t>(at);
  }
  return first;
}();
}  // namespace

FieldId classify_field(std::string_view name) noexcept {
  if (name.size() > kLongest) return FieldId::other;
  for (std::size_t i = kFirst[name.size()]; i < kFirst[name.size() + 1]; ++i)
    if (text::iequal(kKnown[i].name, name)) return kKnown[i].id;
  return FieldId::other;
}

const Field* HeaderList::find(std::string_view name) const noexcept {
  for (const Field& f : *this)
    if (same_field(f.name, name)) return &f;
  return nullptr;
}

const Field* HeaderList::find(FieldId id) const noexcept {
  for (const Field& f : *this)
    if (f.id == id) return &f;
  return nullptr;
}

std::optional<std::string_view> HeaderList::get(std::string_view name) const noexcept {
  const Field* f = find(name);
  if (f == nullptr) return std::nullopt;
  return f->value;
}

std::size_t HeaderList::count(std::string_view name) const noexcept {
  std::size_t n = 0;
  for (const Field& f : *this) n += same_field(f.name, name) ? 1 : 0;
  return n;
}

void HeaderList::add(std::string_view name, std::string_view value) noexcept {
  add(name, value, classify_field(name));
}

void HeaderList::set(std::string_view name, std::string_view value) noexcept {
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (!same_field(fields_[i].name, name)) continue;
    fields_[i].value = value;
    std::uint32_t kept = i + 1;
    for (std::uint32_t j = i + 1; j < size_; ++j)
      if (!same_field(fields_[j].name, name)) fields_[kept++] = fields_[j];
    size_ = kept;
    return;
  }
  add(name, value);
}

std::size_t HeaderList::remove(std::string_view name) noexcept {
  const std::uint32_t before = size_;
  remove_if([name](const Field& f) { return same_field(f.name, name); });
  return before - size_;
}

std::size_t HeaderList::remove(FieldId id) noexcept {
  const std::uint32_t before = size_;
  remove_if([id](const Field& f) { return f.id == id; });
  return before - size_;
}

HeaderList HeaderList::clone() const noexcept {
  HeaderList copy(*arena_);
  if (size_ == 0) return copy;
  copy.capacity_ = capacity_;
  copy.fields_ = static_cast<Field*>(arena_->allocate(capacity_ * sizeof(Field), alignof(Field)));
  for (std::uint32_t i = 0; i < size_; ++i) new (copy.fields_ + i) Field(fields_[i]);
  copy.size_ = size_;
  return copy;
}

void HeaderList::grow() noexcept {
  const std::uint32_t bigger = capacity_ == 0 ? 24 : capacity_ * 2;
  auto* moved = static_cast<Field*>(arena_->allocate(bigger * sizeof(Field), alignof(Field)));
  for (std::uint32_t i = 0; i < size_; ++i) new (moved + i) Field(fields_[i]);
  fields_ = moved;
  capacity_ = bigger;
}

}  // namespace sluice::sdk
