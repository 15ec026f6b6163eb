// The words of the config bus: frames on a Unix stream socket between the admin process and each worker.
//
// A frame is a head of 16 octets (magic, version, type, payload length, CRC-32 of type and payload) and a payload of
// little-endian fixed-width numbers and length-prefixed texts. Encoding and decoding are pure functions: no I/O, no
// Asio, safe against any octets (every length is checked against what is there before memory is taken for it).
// Order is (epoch, sequence): an epoch is one life of the admin process, a sequence counts its batches.
//
// Downward: snapshot (begin, parts, end), resume, batch parts, addresses, question.
// Upward: hello (first), ack, object_error, resolve, upstream_used, answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "conf/base/cidr.hpp"
#include "worker/live/change.hpp"

namespace sluice::live::bus {

inline constexpr std::uint16_t kMagic = 0x5342;  // "BS"
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kHeadBytes = 16;
inline constexpr std::size_t kMaxDownwardPayload = 80u << 20;  // one object may be as large as the Admin API takes
inline constexpr std::size_t kMaxUpwardPayload = 4u << 20;
inline constexpr std::size_t kPartBytes = 256u << 10;          // changes are cut into frames of about this size

// A place in the order of all batches. Epoch 0: nothing received yet.
struct Position {
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

struct Hello {
  std::uint32_t slot = 0;
  std::uint32_t pid = 0;
  std::uint64_t generation = 0;
  Position last;
  friend bool operator==(const Hello&, const Hello&) = default;
};
struct SnapshotBegin {
  Position at;
  std::uint64_t revision = 0;
  std::uint64_t count = 0;  // changes that follow
  friend bool operator==(const SnapshotBegin&, const SnapshotBegin&) = default;
};
struct SnapshotPart {
  std::vector<Change> changes;
  friend bool operator==(const SnapshotPart&, const SnapshotPart&) = default;
};
struct SnapshotEnd {
  Position at;
  std::uint64_t count = 0;
  friend bool operator==(const SnapshotEnd&, const SnapshotEnd&) = default;
};
// The worker's position is known: what it missed follows, no snapshot.
struct Resume {
  Position from;
  friend bool operator==(const Resume&, const Resume&) = default;
};
// Part of one batch; the batch counts when `last` has come.
struct BatchPart {
  Position at;
  std::uint64_t revision = 0;
  bool last = true;
  std::vector<Change> changes;
  friend bool operator==(const BatchPart&, const BatchPart&) = default;
};
struct Ack {
  Position at;
  std::uint32_t errors = 0;
  friend bool operator==(const Ack&, const Ack&) = default;
};
struct ObjectErrorReport {
  ObjectError error;
  friend bool operator==(const ObjectErrorReport&, const ObjectErrorReport&) = default;
};
struct Resolve {
  std::vector<std::string> names;
  friend bool operator==(const Resolve&, const Resolve&) = default;
};
struct Addresses {
  std::string name;
  std::uint32_t ttl_seconds = 0;
  std::vector<IpAddress> addresses;  // empty: the name does not resolve
  friend bool operator==(const Addresses&, const Addresses&) = default;
};
struct UpstreamUsed {
  std::string key;
  friend bool operator==(const UpstreamUsed&, const UpstreamUsed&) = default;
};
struct Question {
  std::uint64_t id = 0;
  std::string json;
  friend bool operator==(const Question&, const Question&) = default;
};
struct Answer {
  std::uint64_t id = 0;
  std::string json;
  friend bool operator==(const Answer&, const Answer&) = default;
};

// The alternative's index + 1 is the frame's type.
using Message = std::variant<Hello, SnapshotBegin, SnapshotPart, SnapshotEnd, Resume, BatchPart, Ack, ObjectErrorReport,
                             Resolve, Addresses, UpstreamUsed, Question, Answer>;

// Appends the message as one frame. REQUIRES: its payload fits kMaxDownwardPayload.
void encode(const Message& message, std::string& out);
std::string encode(const Message& message);

// The octets of one change inside a payload: what the server keeps, so that it encodes each object once.
std::string encode_change(const Change& change);
// Whether two encoded changes say the same but for their indexes (created, modified).
bool same_value(std::string_view a, std::string_view b) noexcept;

// Frames made from changes that are encoded already.
std::string encode_snapshot_part(const std::vector<std::string_view>& encoded_changes);
std::string encode_batch_part(Position at, std::uint64_t revision, bool last,
                              const std::vector<std::string_view>& encoded_changes);

// A frame whose head and checksum are good; the payload is not read yet. Views into the reader's buffer.
struct Frame {
  std::uint8_t type = 0;
  std::string_view payload;
};

// The message of a frame; nothing when the payload is not exactly one well-formed message of that type.
std::optional<Message> decode(const Frame& frame);

// Finds the frames in a stream of octets. Memory grows with what has really arrived, never with what a head promises.
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_payload) : max_payload_(max_payload) {}

  void append(std::string_view octets);

  enum class Status : std::uint8_t { frame, need_more, broken };
  // Next frame. After `broken` (see reason()) the stream has no meaning any more. A frame is valid until append().
  Status next(Frame& frame) noexcept;
  const char* reason() const noexcept { return reason_; }
  std::size_t buffered() const noexcept { return buffer_.size() - start_; }
  void clear() noexcept;

 private:
  Status fail(const char* reason) noexcept;

  std::size_t max_payload_;
  std::string buffer_;
  std::size_t start_ = 0;
  const char* reason_ = "";
};

}  // namespace sluice::live::bus
