// HeaderList: the fields of one message head, in order, as views.
//
// Names and values point into the connection's head buffer or into the request's arena. Lookup is linear and compares
// lengths first: heads are short, and the fields the gateway itself asks for carry an id set when the head was parsed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "plugins/sdk/arena.hpp"

namespace sluice::sdk {

// Fields that the core looks at by itself. `other` is everything else.
enum class FieldId : std::uint8_t {
  other, host, connection, content_length, transfer_encoding, te, trailer, upgrade, expect, keep_alive,
  proxy_connection, forwarded, x_forwarded_for, x_forwarded_proto, x_forwarded_host, x_forwarded_port, x_real_ip,
  x_consumer_username, x_credential_identifier, x_consumer_custom_id, content_type, server, date, cookie, user_agent,
  referer, via, http2_settings, max_forwards,
};

FieldId classify_field(std::string_view name) noexcept;  // case-insensitive
bool same_field(std::string_view a, std::string_view b) noexcept;  // ASCII case-insensitive equality

struct Field {
  std::string_view name;
  std::string_view value;
  FieldId id = FieldId::other;
};

class HeaderList {
 public:
  explicit HeaderList(Arena& arena) noexcept : arena_(&arena) {}

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const Field* begin() const noexcept { return fields_; }
  const Field* end() const noexcept { return fields_ + size_; }
  Field& operator[](std::size_t i) noexcept { return fields_[i]; }

  const Field* find(std::string_view name) const noexcept;  // first with that name, or nullptr
  const Field* find(FieldId id) const noexcept;              // id must not be `other`
  std::optional<std::string_view> get(std::string_view name) const noexcept;
  std::size_t count(std::string_view name) const noexcept;

  void add(std::string_view name, std::string_view value) noexcept;  // appended; the caller owns the octets' life
  void add(std::string_view name, std::string_view value, FieldId id) noexcept {
    if (size_ == capacity_) grow();
    Field& f = fields_[size_++];
    f.name = name;
    f.value = value;
    f.id = id;
  }
  void set(std::string_view name, std::string_view value) noexcept;  // replaces all; keeps the first one's place
  std::size_t remove(std::string_view name) noexcept;                // how many went
  std::size_t remove(FieldId id) noexcept;
  template <class P>
  void remove_if(P&& predicate) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i)
      if (!predicate(fields_[i])) fields_[kept++] = fields_[i];
    size_ = static_cast<std::uint32_t>(kept);
  }
  void clear() noexcept { size_ = 0; }

  // A copy of the list (not of the octets) in the same arena: what before_proxy edits are undone to.
  HeaderList clone() const noexcept;

 private:
  void grow() noexcept;
  Arena* arena_;
  Field* fields_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace sluice::sdk
