// Server and clients of the bus over a real socket, on one io_context that the test drives.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "admin/bus/bus_server.hpp"
#include "worker/live/bus_client.hpp"

using namespace sluice;
using namespace sluice::admin;
using live::Change;
namespace asio = boost::asio;

namespace {

// A listening abstract socket of its own, as the master would have opened it.
struct Listener {
  Listener() {
    static int counter = 0;
    address = std::string(1, '\0') + "sluice-bus-test-" + std::to_string(getpid()) + "-" + std::to_string(++counter);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::copy(address.begin(), address.end(), a.sun_path);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&a), size) == 0);
    REQUIRE(listen(fd, 64) == 0);
  }
  ~Listener() { close(fd); }
  std::string address;
  int fd;
};

// Live tables of a worker, as far as the bus sees them. `steps`: how many slices a batch takes; 0 = never ends.
struct FakeTables : live::ChangeTarget {
  std::map<std::pair<int, std::string>, std::string> objects;
  std::map<std::string, std::vector<IpAddress>> addresses;
  std::vector<std::size_t> batches;
  int steps = 1;
  int snapshots = 0;
  std::vector<live::ObjectError> complain;

  void stage(std::vector<Change> changes, bool whole) override {
    staged = std::move(changes);
    staged_whole = whole;
    left = steps;
  }
  bool step(TimePoint) override {
    if (steps == 0) return false;
    return --left <= 0;
  }
  std::vector<live::ObjectError> publish() override {
    if (staged_whole) {
      ++snapshots;
      objects.clear();
    }
    for (const Change& c : staged) {
      const std::pair key(static_cast<int>(c.kind), c.id);
      if (c.removed) objects.erase(key);
      else objects[key] = c.json;
    }
    batches.push_back(staged.size());
    return std::exchange(complain, {});
  }
  void set_addresses(std::string_view name, std::span<const IpAddress> list) override {
    addresses[std::string(name)].assign(list.begin(), list.end());
  }

  std::vector<Change> staged;
  bool staged_whole = false;
  int left = 0;
};

struct FakeNames : NameSource {
  std::set<std::string, std::less<>> wanted;
  std::map<std::string, NameAnswer, std::less<>> answers;
  void want(std::string_view name) override { wanted.emplace(name); }
  void unwant(std::string_view name) override {
    wanted.erase(std::string(name));
    answers.erase(std::string(name));
  }
  const NameAnswer* answer(std::string_view name) const override {
    const auto it = answers.find(name);
    return it == answers.end() ? nullptr : &it->second;
  }
  void resolve(const std::string& name, const char* ip) {
    NameAnswer& answer = answers[name];
    answer.addresses.clear();
    if (ip) answer.addresses.push_back(*parse_ip(ip));
    if (on_answer) on_answer(name, answer);
  }
};

struct Bus {
  asio::io_context io;
  Listener listener;
  FakeNames names;
  std::vector<LiveWorker> accepting;
  std::function<bool(std::uint32_t, std::uint32_t)> is_worker;
  std::vector<std::pair<std::uint32_t, live::ObjectError>> errors;
  std::vector<std::string> used;
  std::unique_ptr<BusServer> server;
  BusOptions options;

  Bus() {
    options.generation = 1;
    options.write_bound = seconds(5);
    options.names_bound = seconds(5);
  }
  BusServer& serve(std::uint64_t epoch = 10, std::vector<Change> state = {}) {
    options.epoch = epoch;
    BusHooks hooks;
    hooks.accepting_workers = [this] { return accepting; };
    hooks.is_worker = is_worker;
    hooks.on_object_error = [this](std::uint32_t slot, const live::ObjectError& e) { errors.emplace_back(slot, e); };
    hooks.on_upstream_used = [this](std::uint32_t, const std::string& key) { used.push_back(key); };
    server = std::make_unique<BusServer>(io, listener.fd, options, hooks, &names);
    server->load(100, state);
    server->start();
    return *server;
  }
  template <class F>
  void until(F&& done) {
    const auto limit = std::chrono::steady_clock::now() + seconds(20);
    while (!done()) {
      io.restart();
      REQUIRE(std::chrono::steady_clock::now() < limit);
      io.run_one_for(milliseconds(50));
    }
  }
  // What can happen without time passing; bounded, because a worker that never finishes always has something to do.
  void settle() {
    io.restart();
    for (int i = 0; i < 300 && io.poll_one() != 0; ++i) {
    }
  }
};

struct Worker {
  Worker(Bus& bus, std::uint32_t slot, std::uint64_t generation = 1) : bus(bus) {
    live::BusClientOptions o;
    o.address = bus.listener.address;
    o.slot = slot;
    o.pid = static_cast<std::uint32_t>(getpid());
    o.generation = generation;
    o.first_retry = milliseconds(1);
    live::BusClientHooks hooks;
    hooks.on_first_snapshot = [this] { ready = true; };
    hooks.answer = [](std::string_view q) { return "re:" + std::string(q); };
    client = std::make_unique<live::BusClient>(bus.io, o, tables, hooks);
    client->start();
  }
  void until_ready() {
    bus.until([&] { return ready; });
  }
  bool has(const std::string& id, const std::string& json) const {
    const auto it = tables.objects.find({static_cast<int>(conf::Kind::route), id});
    return it != tables.objects.end() && it->second == json;
  }
  Bus& bus;
  FakeTables tables;
  bool ready = false;
  std::unique_ptr<live::BusClient> client;
};

Change route(std::string id, std::string json) {
  return {conf::Kind::route, std::move(id), false, std::move(json), 1, 1};
}
Change gone(std::string id) { return {conf::Kind::route, std::move(id), true, {}, 0, 0}; }

struct Outcome {
  bool done = false;
  Applied applied;
  OnApplied take() {
    return [this](Applied a) {
      done = true;
      applied = a;
    };
  }
};

}  // namespace

TEST_CASE("a worker gets a snapshot, then each write, and a write is answered when all have it", "[bus]") {
  Bus bus;
  auto& server = bus.serve(10, {route("1", "one"), route("2", "two")});
  Worker a(bus, 0), b(bus, 1);
  a.until_ready();
  b.until_ready();
  CHECK(a.tables.objects.size() == 2);
  CHECK(server.peers() == 2);

  Outcome outcome;
  server.publish(101, {route("3", "three"), gone("1")}, outcome.take());
  bus.until([&] { return outcome.done; });
  CHECK(outcome.applied.applied == 2);
  CHECK(outcome.applied.workers == 2);
  for (const Worker* w : {&a, &b}) {
    CHECK(w->has("3", "three"));
    CHECK(w->tables.objects.size() == 2);
    CHECK(w->tables.snapshots == 1);
  }
  CHECK(a.client->position() == live::bus::Position{10, server.sequence()});
}

TEST_CASE("a write waits for an accepting worker that is not connected yet", "[bus]") {
  Bus bus;
  auto& server = bus.serve();
  bus.accepting = {{0, static_cast<std::uint32_t>(getpid())}};
  Outcome outcome;
  server.publish(101, {route("1", "x")}, outcome.take());
  bus.settle();
  CHECK_FALSE(outcome.done);
  Worker a(bus, 0);
  bus.until([&] { return outcome.done; });
  CHECK(outcome.applied.applied == 1);
  CHECK(outcome.applied.workers == 1);
  CHECK(a.has("1", "x"));
}

TEST_CASE("one lagging worker holds a write once, for the bound", "[bus]") {
  Bus bus;
  bus.options.write_bound = milliseconds(60);
  auto& server = bus.serve();
  Worker a(bus, 0), b(bus, 1);
  a.until_ready();
  b.until_ready();
  b.tables.steps = 0;  // never finishes

  Outcome first;
  const auto begun = std::chrono::steady_clock::now();
  server.publish(101, {route("1", "x")}, first.take());
  bus.until([&] { return first.done; });
  CHECK(std::chrono::steady_clock::now() - begun >= milliseconds(60));
  CHECK(first.applied.applied == 1);
  CHECK(first.applied.workers == 2);
  CHECK(a.has("1", "x"));

  // The next ones do not wait for it: answered as soon as the other has them.
  for (int i = 0; i < 20; ++i) {
    Outcome next;
    server.publish(102, {route("2", std::to_string(i))}, next.take());
    bus.until([&] { return next.done; });
    CHECK(next.applied.applied == 1);
    CHECK(a.has("2", std::to_string(i)));
  }

  // It catches up and is waited for again.
  b.tables.steps = 1;
  bus.until([&] { return b.has("2", "19"); });
  bus.until([&] {
    Outcome probe;
    server.publish(103, {route("3", "y")}, probe.take());
    bus.until([&] { return probe.done; });
    return probe.applied.applied == 2;
  });
  CHECK(b.has("3", "y"));
}

TEST_CASE("writes pipeline: a hundred are under way at once", "[bus]") {
  Bus bus;
  auto& server = bus.serve();
  Worker a(bus, 0), b(bus, 1);
  a.until_ready();
  b.until_ready();
  b.tables.steps = 3;
  std::vector<Outcome> outcomes(100);
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    server.publish(100 + i, {route("1", std::to_string(i))}, outcomes[i].take());
  bus.until([&] { return outcomes.back().done; });
  for (const Outcome& o : outcomes) {
    CHECK(o.done);
    CHECK(o.applied.applied == 2);
  }
  CHECK(a.has("1", "99"));
  CHECK(b.has("1", "99"));
}

TEST_CASE("a worker that was away resumes from its sequence without a snapshot", "[bus]") {
  Bus bus;
  auto& server = bus.serve();
  Worker a(bus, 0);
  a.until_ready();
  const auto snapshots = server.snapshots_sent();
  // A second connection of the same slot replaces the first: the client loses its connection and comes back.
  asio::local::stream_protocol::socket rival(bus.io);
  rival.connect(asio::local::stream_protocol::endpoint(bus.listener.address));
  asio::write(rival, asio::buffer(live::bus::encode(
                         live::bus::Hello{0, static_cast<std::uint32_t>(getpid()), 1, a.client->position()})));
  bus.until([&] { return !a.client->connected(); });
  server.publish(101, {route("1", "while away")});
  server.publish(102, {route("2", "too")});
  bus.until([&] { return a.has("2", "too"); });
  CHECK(a.has("1", "while away"));
  CHECK(a.tables.snapshots == 1);
  CHECK(server.snapshots_sent() == snapshots);
}

TEST_CASE("a worker that does not read is dropped and resyncs", "[bus]") {
  Bus bus;
  bus.options.peer_queue_bytes = 256 * 1024;
  bus.options.ring_batches = 4;
  bus.options.write_bound = milliseconds(20);
  auto& server = bus.serve();
  Worker a(bus, 0);
  a.until_ready();
  a.tables.steps = 0;
  int i = 0;
  while (server.overflows() == 0 && i < 2000) {
    server.publish(101, {route("1", std::string(4000, 'x') + std::to_string(++i))});
    bus.settle();
  }
  REQUIRE(server.overflows() == 1);
  a.tables.steps = 1;
  server.publish(102, {route("2", "after"), gone("1")});
  bus.until([&] { return a.has("2", "after"); });
  CHECK(a.tables.objects.size() == 1);
  CHECK(a.client->position().sequence == server.sequence());
}

TEST_CASE("a new admin process resyncs the workers, which keep what they have meanwhile", "[bus]") {
  Bus bus;
  bus.serve(10, {route("1", "one"), route("2", "two")});
  Worker a(bus, 0), b(bus, 1);
  a.until_ready();
  b.until_ready();
  bus.server.reset();
  bus.settle();
  CHECK(a.has("1", "one"));

  auto& server = bus.serve(11, {route("2", "two, changed"), route("3", "three")});
  bus.until([&] { return a.client->position().epoch == 11 && b.client->position().epoch == 11; });
  for (const Worker* w : {&a, &b}) {
    CHECK(w->tables.snapshots == 2);
    CHECK(w->tables.objects.size() == 2);
    CHECK(w->has("2", "two, changed"));
  }
  Outcome outcome;
  server.publish(101, {gone("3")}, outcome.take());
  bus.until([&] { return outcome.done; });
  CHECK(outcome.applied.applied == 2);
}

TEST_CASE("a large snapshot streams, and writes made meanwhile follow it", "[bus]") {
  Bus bus;
  std::vector<Change> many;
  for (int i = 0; i < 3000; ++i) many.push_back(route(std::to_string(i), std::string(3000, 'r')));
  auto& server = bus.serve(10, many);
  Worker a(bus, 0);
  bus.until([&] { return server.peers() == 1; });
  Outcome outcome;
  server.publish(101, {route("7", "new"), gone("8")}, outcome.take());
  bus.until([&] { return outcome.done; });
  CHECK(outcome.applied.applied == 1);
  CHECK(a.has("7", "new"));
  CHECK(a.tables.objects.size() == 2999);
  CHECK(a.tables.snapshots == 1);
}

TEST_CASE("a whole configuration is published as its difference", "[bus]") {
  Bus bus;
  auto& server = bus.serve(10, {route("1", "one"), route("2", "two"), route("3", "three")});
  Worker a(bus, 0);
  a.until_ready();
  Outcome outcome;
  server.replace(101, {route("1", "one"), route("3", "drei"), route("4", "four")}, outcome.take());
  bus.until([&] { return outcome.done; });
  CHECK(a.tables.batches.back() == 3);
  CHECK(a.tables.objects.size() == 3);
  CHECK(a.has("3", "drei"));
}

TEST_CASE("workers of an older generation get changes but hold no write", "[bus]") {
  Bus bus;
  auto& server = bus.serve();
  Worker old(bus, 5, 0), current(bus, 0);
  old.until_ready();
  current.until_ready();
  old.tables.steps = 0;
  Outcome outcome;
  server.publish(101, {route("1", "x")}, outcome.take());
  bus.until([&] { return outcome.done; });
  CHECK(outcome.applied.workers == 1);
  CHECK(outcome.applied.applied == 1);
}

TEST_CASE("object errors and reports go up, questions and the list of plugins go down", "[bus]") {
  Bus bus;
  auto& server = bus.serve();
  Worker a(bus, 3);
  a.until_ready();
  a.tables.complain = {{conf::Kind::route, "9", "does not compile"}};
  Outcome outcome;
  server.publish(101, {route("9", "bad")}, outcome.take());
  bus.until([&] { return outcome.done; });
  REQUIRE(bus.errors.size() == 1);
  CHECK(bus.errors[0].first == 3);
  CHECK(bus.errors[0].second.message == "does not compile");

  a.client->upstream_used("upstreams/1");
  a.client->upstream_used("upstreams/1");
  std::optional<std::string> answer;
  bool answered = false;
  server.ask("why", [&](std::optional<std::string> text) {
    answered = true;
    answer = std::move(text);
  });
  server.reload_plugins(R"(["key-auth","echo"])");
  bus.until([&] { return answered && !a.tables.objects.empty(); });
  CHECK(answer == "re:why");
  const auto list = std::pair(static_cast<int>(conf::Kind::plugins), std::string("plugins"));
  bus.until([&] { return a.tables.objects.contains(list); });
  CHECK(a.tables.objects.at(list) == R"([{"name":"key-auth"},{"name":"echo"}])");
  server.replace(102, {route("1", "one")});
  bus.until([&] { return a.has("1", "one"); });
  CHECK(a.tables.objects.contains(list));
  CHECK(bus.used == std::vector<std::string>{"upstreams/1"});

  a.client->stop();
  bus.until([&] { return server.peers() == 0; });
  answered = false;
  server.ask("why", [&](std::optional<std::string> text) {
    answered = true;
    answer = std::move(text);
  });
  CHECK(answered);
  CHECK_FALSE(answer.has_value());
}

TEST_CASE("a change with a new name goes out once the name is settled, and keeps its order", "[bus][names]") {
  Bus bus;
  auto& server = bus.serve();
  Worker a(bus, 0);
  a.until_ready();
  Outcome named, plain;
  server.publish(101, {route("1", R"({"upstream":{"nodes":{"api.test:80":1}}})")}, named.take());
  server.publish(102, {route("2", "plain")}, plain.take());
  bus.settle();
  CHECK(bus.names.wanted.contains("api.test"));
  CHECK(a.tables.objects.empty());
  bus.names.resolve("api.test", "10.0.0.9");
  bus.until([&] { return plain.done; });
  CHECK(named.done);
  CHECK(a.tables.addresses["api.test"] == std::vector<IpAddress>{*parse_ip("10.0.0.9")});

  // Another change with the same name waits for nothing.
  Outcome again;
  server.publish(103, {route("3", R"({"upstream":{"nodes":{"API.test:81":1}}})")}, again.take());
  bus.until([&] { return again.done; });

  bus.names.resolve("api.test", "10.0.0.10");
  bus.until([&] { return a.tables.addresses["api.test"] == std::vector<IpAddress>{*parse_ip("10.0.0.10")}; });

  // A worker that comes later has the addresses before its snapshot.
  Worker b(bus, 1);
  b.until_ready();
  CHECK(b.tables.addresses.contains("api.test"));

  server.publish(104, {gone("1"), gone("3")});
  bus.settle();
  CHECK_FALSE(bus.names.wanted.contains("api.test"));
}

TEST_CASE("a name that does not settle holds a write no longer than its bound", "[bus][names]") {
  Bus bus;
  bus.options.names_bound = milliseconds(30);
  auto& server = bus.serve();
  Worker a(bus, 0);
  a.until_ready();
  Outcome outcome;
  server.publish(101, {route("1", R"({"upstream":{"nodes":{"slow.test:80":1}}})")}, outcome.take());
  bus.until([&] { return outcome.done; });
  CHECK(outcome.applied.applied == 1);
}

TEST_CASE("at start the first snapshot waits for the names", "[bus][names]") {
  Bus bus;
  bus.serve(10, {route("1", R"({"upstream":{"nodes":{"api.test:80":1}}})")});
  Worker a(bus, 0);
  bus.settle();
  CHECK_FALSE(a.ready);
  bus.names.resolve("api.test", "10.0.0.9");
  a.until_ready();
  CHECK(a.tables.addresses.contains("api.test"));
}

TEST_CASE("a name that only a worker asks for is looked up while it is connected", "[bus][names]") {
  Bus bus;
  auto& server = bus.serve();
  Worker a(bus, 0);
  a.until_ready();
  a.client->resolve("logs.test");
  bus.until([&] { return bus.names.wanted.contains("logs.test"); });
  bus.names.resolve("logs.test", "10.1.1.1");
  bus.until([&] { return a.tables.addresses.contains("logs.test"); });
  a.client->stop();
  bus.until([&] { return server.peers() == 0; });
  CHECK_FALSE(bus.names.wanted.contains("logs.test"));
}

TEST_CASE("a peer that speaks nonsense is thrown out, the others stay", "[bus][security]") {
  Bus bus;
  auto& server = bus.serve();
  Worker a(bus, 0);
  a.until_ready();
  const std::string pieces[] = {
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
      live::bus::encode(live::bus::Ack{{10, 1}, 0}),
      live::bus::encode(live::bus::Hello{1, 1, 1, {}}),  // another process's id
      live::bus::encode(live::bus::Hello{1, static_cast<std::uint32_t>(getpid()), 1, {}}) +
          live::bus::encode(live::bus::Ack{{10, 99}, 0}),
  };
  for (const std::string& octets : pieces) {
    asio::local::stream_protocol::socket peer(bus.io);
    peer.connect(asio::local::stream_protocol::endpoint(bus.listener.address));
    asio::write(peer, asio::buffer(octets));
    bool ended = false;
    std::array<char, 4096> sink;
    std::function<void()> read = [&] {
      peer.async_read_some(asio::buffer(sink), [&](auto error, std::size_t) {
        if (error) ended = true;
        else read();
      });
    };
    read();
    bus.until([&] { return ended; });
  }
  CHECK(server.peers() == 1);
  CHECK(a.client->connected());
}

TEST_CASE("a process that holds no worker's slot learns nothing", "[bus][security]") {
  Bus bus;
  bus.is_worker = [](std::uint32_t slot, std::uint32_t pid) {
    return slot == 0 && pid == static_cast<std::uint32_t>(getpid());
  };
  auto& server = bus.serve(10, {route("1", "secret")});
  Worker real(bus, 0), stranger(bus, 1);
  real.until_ready();
  bus.settle();
  CHECK(real.tables.objects.size() == 1);
  CHECK(!stranger.ready);
  CHECK(stranger.tables.objects.empty());
  CHECK(server.peers() == 1);
}
