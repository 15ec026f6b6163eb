// The bus protocol against everything a stream can hold: its own frames in any cut, corruption, and plain noise.
#include <catch2/catch.hpp>
#include <random>

#include "worker/live/bus_protocol.hpp"

using namespace sluice;
using namespace sluice::live;
using namespace sluice::live::bus;
using Status = FrameReader::Status;

namespace {

using Random = std::mt19937_64;

std::uint64_t number(Random& r) { return r() >> (r() % 64); }

std::string text(Random& r, std::size_t most = 300) {
  std::string s(r() % most, '\0');
  for (char& c : s) c = static_cast<char>(r());
  return s;
}

Change change(Random& r) {
  Change c;
  c.kind = static_cast<conf::Kind>(r() % conf::kKindCount);
  c.removed = r() % 2;
  c.id = text(r, 70);
  c.json = text(r, 2000);
  c.created = number(r);
  c.modified = number(r);
  return c;
}

std::vector<Change> changes(Random& r) {
  std::vector<Change> list(r() % 6);
  for (Change& c : list) c = change(r);
  return list;
}

Message message(Random& r) {
  const Position at{number(r), number(r)};
  switch (r() % std::variant_size_v<Message>) {
    case 0: return Hello{static_cast<std::uint32_t>(r()), static_cast<std::uint32_t>(r()), number(r), at};
    case 1: return SnapshotBegin{at, number(r), number(r)};
    case 2: return SnapshotPart{changes(r)};
    case 3: return SnapshotEnd{at, number(r)};
    case 4: return Resume{at};
    case 5: return BatchPart{at, number(r), r() % 2 == 0, changes(r)};
    case 6: return Ack{at, static_cast<std::uint32_t>(r())};
    case 7: return ObjectErrorReport{{static_cast<conf::Kind>(r() % conf::kKindCount), text(r), text(r)}};
    case 8: {
      Resolve m;
      for (std::size_t n = r() % 5; n-- > 0;) m.names.push_back(text(r));
      return m;
    }
    case 9: {
      Addresses m{text(r), static_cast<std::uint32_t>(r()), std::vector<IpAddress>(r() % 5)};
      for (IpAddress& a : m.addresses)
        for (auto& octet : a.bytes) octet = static_cast<std::uint8_t>(r());
      return m;
    }
    case 10: return UpstreamUsed{text(r)};
    case 11: return Question{number(r), text(r)};
    default: return Answer{number(r), text(r)};
  }
}

}  // namespace

TEST_CASE("every message survives the wire, in any cut of the stream", "[bus][protocol]") {
  Random r(1);
  std::string stream;
  std::vector<Message> sent;
  for (int i = 0; i < 600; ++i) {
    sent.push_back(message(r));
    encode(sent.back(), stream);
  }
  FrameReader reader(kMaxDownwardPayload);
  std::vector<Message> got;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t n = std::min<std::size_t>(1 + r() % 5000, stream.size() - at);
    reader.append(std::string_view(stream).substr(at, n));
    at += n;
    Frame frame;
    while (true) {
      const Status status = reader.next(frame);
      REQUIRE(status != Status::broken);
      if (status == Status::need_more) break;
      auto m = decode(frame);
      REQUIRE(m.has_value());
      got.push_back(std::move(*m));
    }
  }
  REQUIRE(got.size() == sent.size());
  CHECK(got == sent);
  CHECK(reader.buffered() == 0);
}

TEST_CASE("a truncated frame is never taken for a whole one", "[bus][protocol]") {
  Random r(2);
  for (int i = 0; i < 60; ++i) {
    const std::string frame = encode(message(r));
    for (std::size_t n = 0; n < frame.size(); n += 1 + r() % 7) {
      FrameReader reader(kMaxUpwardPayload);
      reader.append(std::string_view(frame).substr(0, n));
      Frame got;
      REQUIRE(reader.next(got) == Status::need_more);
    }
  }
}

TEST_CASE("a flipped bit is noticed", "[bus][protocol]") {
  Random r(3);
  for (int i = 0; i < 3000; ++i) {
    std::string frame = encode(message(r));
    frame[r() % frame.size()] ^= static_cast<char>(1 << (r() % 8));
    FrameReader reader(kMaxUpwardPayload);
    reader.append(frame);
    Frame got;
    REQUIRE(reader.next(got) != Status::frame);
  }
}

TEST_CASE("noise is refused", "[bus][protocol]") {
  Random r(4);
  for (int i = 0; i < 2000; ++i) {
    FrameReader reader(kMaxUpwardPayload);
    std::string noise = text(r, 400) + std::string(kHeadBytes, 'x');
    reader.append(noise);
    Frame got;
    REQUIRE(reader.next(got) == Status::broken);
  }
}

TEST_CASE("a payload with a good checksum may still lie, and takes no memory for it", "[bus][protocol]") {
  Random r(5);
  // Whatever the payload: decode either refuses it or understands exactly it.
  for (int i = 0; i < 20000; ++i) {
    Frame frame;
    frame.type = static_cast<std::uint8_t>(r() % 18);
    std::string payload = text(r, 120);
    if (r() % 2 == 0) {  // near misses: a real payload, damaged
      const Message m = message(r);
      payload = encode(m).substr(kHeadBytes);
      frame.type = static_cast<std::uint8_t>(m.index() + 1);
      if (!payload.empty() && r() % 3 != 0) payload[r() % payload.size()] = static_cast<char>(r());
      if (r() % 3 == 0) payload.resize(r() % (payload.size() + 1));
    }
    frame.payload = payload;
    if (const auto m = decode(frame)) {
      CHECK(m->index() + 1 == frame.type);
      CHECK(encode(*m).substr(kHeadBytes) == payload);
    }
  }
  // Four thousand million changes announced in twelve octets.
  Frame frame{3, std::string_view("\xff\xff\xff\xff\0\0\0\0\0\0\0\0", 12)};
  CHECK_FALSE(decode(frame).has_value());
}

TEST_CASE("a frame over the reader's limit is refused by its head alone", "[bus][protocol]") {
  const std::string frame = encode(Answer{1, std::string(5000, 'a')});
  FrameReader reader(4096);
  reader.append(std::string_view(frame).substr(0, kHeadBytes));
  Frame got;
  CHECK(reader.next(got) == Status::broken);
  CHECK(std::string(reader.reason()) == "frame too large");
}

TEST_CASE("frames made from encoded changes equal those made from changes", "[bus][protocol]") {
  Random r(6);
  const std::vector<Change> list{change(r), change(r), change(r)};
  std::vector<std::string> encoded;
  for (const Change& c : list) encoded.push_back(encode_change(c));
  const std::vector<std::string_view> views(encoded.begin(), encoded.end());
  CHECK(encode_snapshot_part(views) == encode(SnapshotPart{list}));
  CHECK(encode_batch_part({7, 8}, 9, false, views) == encode(BatchPart{{7, 8}, 9, false, list}));

  Change other = list[0];
  other.modified += 1;
  other.created += 5;
  CHECK(same_value(encoded[0], encode_change(other)));
  other.json += " ";
  CHECK_FALSE(same_value(encoded[0], encode_change(other)));
  other = list[0];
  other.removed = !other.removed;
  CHECK_FALSE(same_value(encoded[0], encode_change(other)));
}
