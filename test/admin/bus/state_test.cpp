// What the bus remembers: the state at a sequence, the recent batches, the names that objects mention.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "admin/bus/bus_state.hpp"
#include "admin/bus/upstream_names.hpp"

using namespace sluice;
using namespace sluice::admin;
using live::Change;

namespace {

Change put(conf::Kind kind, std::string id, std::string json, std::uint64_t modified = 1) {
  return {kind, std::move(id), false, std::move(json), 1, modified};
}
Change gone(conf::Kind kind, std::string id) { return {kind, std::move(id), true, {}, 0, 0}; }

std::vector<Change> decode_all(const std::vector<Octets>& encoded) {
  std::vector<std::string_view> views;
  for (const auto& e : encoded) views.push_back(*e);
  live::bus::FrameReader reader(live::bus::kMaxDownwardPayload);
  reader.append(live::bus::encode_snapshot_part(views));
  live::bus::Frame frame;
  REQUIRE(reader.next(frame) == live::bus::FrameReader::Status::frame);
  return std::get<live::bus::SnapshotPart>(*live::bus::decode(frame)).changes;
}

}  // namespace

TEST_CASE("names are found in every nodes object", "[bus][names]") {
  CHECK(upstream_names(R"({"nodes":{"Foo.com:80":1,"127.0.0.1:80":1,"[::1]:80":1,"bar":1,"unix:/tmp/x.sock":1}})") ==
        std::vector<std::string>{"bar", "foo.com"});
  CHECK(upstream_names(R"({"upstream":{"nodes":[{"host":"a.b.","port":1},{"host":"10.0.0.1"},{"host":"::1"}]}})") ==
        std::vector<std::string>{"a.b"});
  CHECK(upstream_names(R"({"plugins":{"traffic-split":{"rules":[{"weighted_upstreams":[{"upstream":{"nodes":{"t.s:1":1}}}]}]}}})") ==
        std::vector<std::string>{"t.s"});
  CHECK(upstream_names(R"({"nodes":{"parked.test:80":0,"127.0.0.1:80":1}})").empty());
  CHECK(upstream_names(R"({"nodes":[{"host":"parked.test","port":80,"weight":0}]})").size() == 1);
  CHECK(upstream_names(R"({"nodes":5})").empty());
  CHECK(upstream_names(R"({"nodes":)").empty());
  CHECK(upstream_names("").empty());
}

TEST_CASE("the names of objects are counted", "[bus][names]") {
  BusState state(1, {});
  BusState::NameEdits edits = state.load(1, {put(conf::Kind::upstream, "1", R"({"nodes":{"a:1":1,"b:1":1}})")});
  CHECK(edits.wanted == std::vector<std::string>{"a", "b"});

  edits = {};
  state.append(2, {put(conf::Kind::upstream, "2", R"({"nodes":{"b:1":1,"c:1":1}})")}, {}, edits);
  CHECK(edits.wanted == std::vector<std::string>{"c"});
  edits = {};
  state.append(3, {put(conf::Kind::upstream, "1", R"({"nodes":{"b:2":1}})")}, {}, edits);
  CHECK(edits.wanted.empty());
  CHECK(edits.unwanted == std::vector<std::string>{"a"});
  edits = {};
  state.append(4, {gone(conf::Kind::upstream, "1"), gone(conf::Kind::upstream, "2")}, {}, edits);
  CHECK(edits.unwanted == std::vector<std::string>{"b", "c"});
  CHECK_FALSE(state.mentions("b"));
}

TEST_CASE("a snapshot is the sum of its batches, what is referred to first", "[bus][state]") {
  std::mt19937_64 r(7);
  BusState state(3, {});
  std::map<std::pair<int, std::string>, Change> model;
  for (int i = 0; i < 2000; ++i) {
    Change c = put(static_cast<conf::Kind>(r() % conf::kKindCount), std::to_string(r() % 40), std::to_string(r()), r());
    if (r() % 3 == 0) c = gone(c.kind, c.id);
    BusState::NameEdits edits;
    state.append(static_cast<std::uint64_t>(i), {c}, {}, edits);
    if (c.removed) model.erase({static_cast<int>(c.kind), c.id});
    else model[{static_cast<int>(c.kind), c.id}] = c;
  }
  const std::vector<Change> all = decode_all(state.snapshot());
  REQUIRE(all.size() == model.size());
  bool routes = false;
  for (const Change& c : all) {
    CHECK(model.at({static_cast<int>(c.kind), c.id}) == c);
    routes = routes || c.kind == conf::Kind::route;
    if (c.kind == conf::Kind::upstream || c.kind == conf::Kind::service) CHECK_FALSE(routes);
  }
}

TEST_CASE("the difference turns one state into the other", "[bus][state]") {
  std::mt19937_64 r(8);
  for (int round = 0; round < 50; ++round) {
    std::vector<Change> first, second;
    for (int i = 0; i < 30; ++i) {
      if (r() % 2) first.push_back(put(conf::Kind::route, std::to_string(i), std::to_string(r() % 3), 1));
      if (r() % 2) second.push_back(put(conf::Kind::route, std::to_string(i), std::to_string(r() % 3), 2));
    }
    BusState state(1, {});
    state.load(1, first);
    const auto changes = state.difference(second);
    BusState::NameEdits edits;
    state.append(2, changes, {}, edits);
    CHECK(state.difference(second).empty());
    CHECK(state.objects() == second.size());
    CHECK(changes.size() <= first.size() + second.size());
  }
}

TEST_CASE("a position is resumed from while the ring reaches back to it", "[bus][state]") {
  BusState state(5, {.ring_batches = 4, .ring_bytes = 1u << 20});
  const std::uint64_t start = state.position().sequence;
  BusState::NameEdits edits;
  for (int i = 0; i < 10; ++i) state.append(static_cast<std::uint64_t>(i), {}, {}, edits);
  std::vector<const BusState::Batch*> missed;
  CHECK(state.missed({5, start + 10}, missed));
  CHECK(missed.empty());
  CHECK(state.missed({5, start + 7}, missed));
  REQUIRE(missed.size() == 3);
  CHECK(missed.front()->at.sequence == start + 8);
  missed.clear();
  CHECK(state.missed({5, start + 6}, missed));
  CHECK_FALSE(state.missed({5, start + 5}, missed));
  CHECK_FALSE(state.missed({4, start + 10}, missed));
  CHECK_FALSE(state.missed({5, start + 11}, missed));
  CHECK_FALSE(state.missed({0, 0}, missed));
  CHECK(state.batch(start + 6) == nullptr);
  CHECK(state.batch(start + 7)->at.sequence == start + 7);
  CHECK(state.batch(start + 11) == nullptr);
}

TEST_CASE("a batch larger than a part is cut, and counts when its last part has come", "[bus][state]") {
  BusState state(1, {});
  std::vector<Change> many;
  for (int i = 0; i < 40; ++i) many.push_back(put(conf::Kind::route, std::to_string(i), std::string(50'000, 'x')));
  BusState::NameEdits edits;
  const auto& batch = state.append(1, many, {}, edits);
  CHECK(batch.frames.size() >= 5);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < batch.frames.size(); ++i) {
    live::bus::FrameReader reader(live::bus::kMaxDownwardPayload);
    reader.append(*batch.frames[i]);
    live::bus::Frame frame;
    REQUIRE(reader.next(frame) == live::bus::FrameReader::Status::frame);
    const auto part = std::get<live::bus::BatchPart>(*live::bus::decode(frame));
    CHECK(part.last == (i + 1 == batch.frames.size()));
    seen += part.changes.size();
  }
  CHECK(seen == many.size());
}
