// Encoding and decoding of bus frames; see bus_protocol.hpp.
#include "worker/live/bus_protocol.hpp"

#include <zlib.h>

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstring>

namespace sluice::live::bus {
namespace {

// The head: magic u16 · version u8 · type u8 · length u32 · crc u32 · reserved u32 (zero).
// A change: kind u8 · removed u8 · created u64 · modified u64 · id · json.
constexpr std::size_t kIndexesAt = 2, kIdAt = 18;
constexpr std::size_t kKeptCapacity = 1u << 20;
constexpr std::size_t kTypeAt = 3, kLengthAt = 4, kCrcAt = 8, kReservedAt = 12;

template <std::unsigned_integral T>
T load(const char* p) noexcept {
  T v = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) v = static_cast<T>(v << 8 | static_cast<unsigned char>(p[i]));
  return v;
}

template <>
std::uint8_t load(const char* p) noexcept {
  return static_cast<std::uint8_t>(*p);
}

template <std::unsigned_integral T>
void store(char* p, T v) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) p[i] = static_cast<char>(v >> (8 * i) & 0xff);
}

std::uint32_t checksum(std::uint8_t type, std::string_view payload) noexcept {
  uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(&type), 1);
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(payload.data()), payload.size()));
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  template <std::unsigned_integral T>
  void number(T v) {
    char octets[sizeof(T)];
    store(octets, v);
    out_.append(octets, sizeof(T));
  }
  void text(std::string_view s) {
    number(static_cast<std::uint32_t>(s.size()));
    out_.append(s);
  }
  void raw(std::string_view s) { out_.append(s); }
  void position(Position p) {
    number(p.epoch);
    number(p.sequence);
  }
  void change(const Change& c) {
    number(static_cast<std::uint8_t>(c.kind));
    number(static_cast<std::uint8_t>(c.removed ? 1 : 0));
    number(c.created);
    number(c.modified);
    text(c.id);
    text(c.json);
  }
  void changes(const std::vector<Change>& list) {
    number(static_cast<std::uint32_t>(list.size()));
    for (const Change& c : list) change(c);
  }
  void changes(const std::vector<std::string_view>& encoded) {
    number(static_cast<std::uint32_t>(encoded.size()));
    for (std::string_view c : encoded) raw(c);
  }

  void operator()(const Hello& m) {
    number(m.slot);
    number(m.pid);
    number(m.generation);
    position(m.last);
  }
  void operator()(const SnapshotBegin& m) {
    position(m.at);
    number(m.revision);
    number(m.count);
  }
  void operator()(const SnapshotPart& m) { changes(m.changes); }
  void operator()(const SnapshotEnd& m) {
    position(m.at);
    number(m.count);
  }
  void operator()(const Resume& m) { position(m.from); }
  void batch_head(Position at, std::uint64_t revision, bool last) {
    position(at);
    number(revision);
    number(static_cast<std::uint8_t>(last ? 1 : 0));
  }
  void operator()(const BatchPart& m) {
    batch_head(m.at, m.revision, m.last);
    changes(m.changes);
  }
  void operator()(const Ack& m) {
    position(m.at);
    number(m.errors);
  }
  void operator()(const ObjectErrorReport& m) {
    number(static_cast<std::uint8_t>(m.error.kind));
    text(m.error.id);
    text(m.error.message);
  }
  void operator()(const Resolve& m) {
    number(static_cast<std::uint32_t>(m.names.size()));
    for (const std::string& name : m.names) text(name);
  }
  void operator()(const Addresses& m) {
    text(m.name);
    number(m.ttl_seconds);
    number(static_cast<std::uint32_t>(m.addresses.size()));
    for (const IpAddress& a : m.addresses) raw({reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size()});
  }
  void operator()(const UpstreamUsed& m) { text(m.key); }
  void operator()(const Question& m) {
    number(m.id);
    text(m.json);
  }
  void operator()(const Answer& m) {
    number(m.id);
    text(m.json);
  }

 private:
  std::string& out_;
};

// Reads fields while there are octets; the first shortfall makes everything after it fail.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  bool complete() const noexcept { return good_ && in_.empty(); }

  template <std::unsigned_integral T>
  bool number(T& v) noexcept {
    if (!good_ || in_.size() < sizeof(T)) return good_ = false;
    v = load<T>(in_.data());
    in_.remove_prefix(sizeof(T));
    return true;
  }
  bool flag(bool& v) noexcept {
    std::uint8_t octet = 0;
    if (!number(octet) || octet > 1) return good_ = false;
    v = octet == 1;
    return true;
  }
  bool text(std::string& s) {
    std::uint32_t n = 0;
    if (!number(n) || in_.size() < n) return good_ = false;
    s.assign(in_.substr(0, n));
    in_.remove_prefix(n);
    return true;
  }
  // A count of things of at least `least` octets each: more than can be there is refused before memory is reserved.
  bool count(std::uint32_t& n, std::size_t least) noexcept {
    if (!number(n) || n > in_.size() / least) return good_ = false;
    return true;
  }
  bool position(Position& p) noexcept { return number(p.epoch) && number(p.sequence); }
  bool kind(conf::Kind& k) noexcept {
    std::uint8_t octet = 0;
    if (!number(octet) || octet >= conf::kKindCount) return good_ = false;
    k = static_cast<conf::Kind>(octet);
    return true;
  }
  bool change(Change& c) {
    return kind(c.kind) && flag(c.removed) && number(c.created) && number(c.modified) && text(c.id) && text(c.json);
  }
  bool changes(std::vector<Change>& list) {
    constexpr std::size_t kLeast = 2 + 2 * 8 + 2 * 4;
    std::uint32_t n = 0;
    if (!count(n, kLeast)) return false;
    list.resize(n);
    return std::all_of(list.begin(), list.end(), [&](Change& c) { return change(c); });
  }

  bool operator()(Hello& m) noexcept {
    return number(m.slot) && number(m.pid) && number(m.generation) && position(m.last);
  }
  bool operator()(SnapshotBegin& m) noexcept { return position(m.at) && number(m.revision) && number(m.count); }
  bool operator()(SnapshotPart& m) { return changes(m.changes); }
  bool operator()(SnapshotEnd& m) noexcept { return position(m.at) && number(m.count); }
  bool operator()(Resume& m) noexcept { return position(m.from); }
  bool operator()(BatchPart& m) {
    return position(m.at) && number(m.revision) && flag(m.last) && changes(m.changes);
  }
  bool operator()(Ack& m) noexcept { return position(m.at) && number(m.errors); }
  bool operator()(ObjectErrorReport& m) { return kind(m.error.kind) && text(m.error.id) && text(m.error.message); }
  bool operator()(Resolve& m) {
    std::uint32_t n = 0;
    if (!count(n, 4)) return false;
    m.names.resize(n);
    return std::all_of(m.names.begin(), m.names.end(), [&](std::string& s) { return text(s); });
  }
  bool operator()(Addresses& m) {
    std::uint32_t n = 0;
    if (!text(m.name) || !number(m.ttl_seconds) || !count(n, sizeof(IpAddress))) return false;
    m.addresses.resize(n);
    for (IpAddress& a : m.addresses) {
      std::memcpy(a.bytes.data(), in_.data(), a.bytes.size());
      in_.remove_prefix(a.bytes.size());
    }
    return true;
  }
  bool operator()(UpstreamUsed& m) { return text(m.key); }
  bool operator()(Question& m) { return number(m.id) && text(m.json); }
  bool operator()(Answer& m) { return number(m.id) && text(m.json); }

 private:
  std::string_view in_;
  bool good_ = true;
};

// Writes a head over the kHeadBytes reserved at `at`; the payload is everything behind them.
void finish_frame(std::string& out, std::size_t at, std::uint8_t type) {
  const std::string_view payload = std::string_view(out).substr(at + kHeadBytes);
  assert(payload.size() <= kMaxDownwardPayload);
  char* head = out.data() + at;
  store(head, kMagic);
  store(head + 2, kVersion);
  store(head + kTypeAt, type);
  store(head + kLengthAt, static_cast<std::uint32_t>(payload.size()));
  store(head + kCrcAt, checksum(type, payload));
  store(head + kReservedAt, std::uint32_t{0});
}

template <class M, std::size_t I = 0>
constexpr std::uint8_t type_of() {
  if constexpr (std::is_same_v<M, std::variant_alternative_t<I, Message>>) return I + 1;
  else return type_of<M, I + 1>();
}

template <std::size_t I = 0>
std::optional<Message> decode_as(const Frame& frame) {
  if constexpr (I < std::variant_size_v<Message>) {
    if (frame.type != I + 1) return decode_as<I + 1>(frame);
    std::variant_alternative_t<I, Message> message{};
    Reader reader(frame.payload);
    if (!reader(message) || !reader.complete()) return std::nullopt;
    return Message(std::move(message));
  } else {
    return std::nullopt;
  }
}

}  // namespace

void encode(const Message& message, std::string& out) {
  const std::size_t at = out.size();
  out.append(kHeadBytes, '\0');
  std::visit(Writer(out), message);
  finish_frame(out, at, static_cast<std::uint8_t>(message.index() + 1));
}

std::string encode(const Message& message) {
  std::string out;
  encode(message, out);
  return out;
}

std::string encode_change(const Change& change) {
  std::string out;
  Writer(out).change(change);
  return out;
}

bool same_value(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && a.size() >= kIdAt && a.substr(0, kIndexesAt) == b.substr(0, kIndexesAt) &&
         a.substr(kIdAt) == b.substr(kIdAt);
}

std::string encode_snapshot_part(const std::vector<std::string_view>& encoded_changes) {
  std::string out(kHeadBytes, '\0');
  Writer(out).changes(encoded_changes);
  finish_frame(out, 0, type_of<SnapshotPart>());
  return out;
}

std::string encode_batch_part(Position at, std::uint64_t revision, bool last,
                              const std::vector<std::string_view>& encoded_changes) {
  std::string out(kHeadBytes, '\0');
  Writer writer(out);
  writer.batch_head(at, revision, last);
  writer.changes(encoded_changes);
  finish_frame(out, 0, type_of<BatchPart>());
  return out;
}

std::optional<Message> decode(const Frame& frame) { return decode_as(frame); }

void FrameReader::append(std::string_view octets) {
  if (start_ != 0) {
    buffer_.erase(0, start_);
    start_ = 0;
    // One large object must not keep its memory for the life of the connection.
    if (buffer_.empty() && buffer_.capacity() > kKeptCapacity) buffer_.shrink_to_fit();
  }
  buffer_.append(octets);
}

FrameReader::Status FrameReader::fail(const char* reason) noexcept {
  reason_ = reason;
  return Status::broken;
}

FrameReader::Status FrameReader::next(Frame& frame) noexcept {
  const std::string_view rest = std::string_view(buffer_).substr(start_);
  if (rest.size() < kHeadBytes) return Status::need_more;
  const char* head = rest.data();
  if (load<std::uint16_t>(head) != kMagic) return fail("not a bus frame");
  if (load<std::uint8_t>(head + 2) != kVersion) return fail("another version of the bus protocol");
  if (load<std::uint32_t>(head + kReservedAt) != 0) return fail("reserved octets are set");
  const std::uint32_t length = load<std::uint32_t>(head + kLengthAt);
  if (length > max_payload_) return fail("frame too large");
  if (rest.size() - kHeadBytes < length) return Status::need_more;
  frame.type = load<std::uint8_t>(head + kTypeAt);
  frame.payload = rest.substr(kHeadBytes, length);
  if (load<std::uint32_t>(head + kCrcAt) != checksum(frame.type, frame.payload)) return fail("checksum mismatch");
  start_ += kHeadBytes + length;
  return Status::frame;
}

void FrameReader::clear() noexcept {
  buffer_.clear();
  start_ = 0;
  reason_ = "";
}

}  // namespace sluice::live::bus
