// The worker's end of the config bus; see bus_client.hpp.
#include "worker/live/bus_client.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <random>
#include <set>
#include <utility>

#include "conf/base/log.hpp"

namespace sluice::live {

namespace asio = boost::asio;
using Local = asio::local::stream_protocol;

namespace {
constexpr std::size_t kMaxReportedErrors = 1000;  // per batch; the count in the ack is exact
constexpr std::size_t kMaxErrorText = 1024;
constexpr int kFirstSlices = 32;
constexpr std::size_t kMaxOutgoing = 8u << 20;

// Only a process of our own user, or root, may tell a worker what to do.
bool trusted_peer(int fd) noexcept {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return false;
  return who.uid == geteuid() || who.uid == 0;
}
}  // namespace

struct BusClient::Impl : std::enable_shared_from_this<BusClient::Impl> {
  Impl(asio::io_context& io, BusClientOptions o, ChangeTarget& t, BusClientHooks h)
      : io(io), options(std::move(o)), target(t), hooks(std::move(h)), socket(io), retry(io),
        random(options.seed ^ options.pid), delay(options.first_retry) {}

  // ---- connection
  void connect() {
    if (stopped) return;
    ++life;
    socket = Local::socket(io);
    socket.async_connect(Local::endpoint(options.address), [self = shared_from_this(), l = life](auto error) {
      if (l == self->life) self->on_connect(error);
    });
  }

  void on_connect(const boost::system::error_code& error) {
    if (stopped) return;
    if (error || !trusted_peer(socket.native_handle())) return lost(error ? "no connection" : "not our own process");
    up = true;
    send(bus::Hello{options.slot, options.pid, options.generation, position});
    if (!names.empty()) send(bus::Resolve{{names.begin(), names.end()}});
    for (const std::string& key : used) send(bus::UpstreamUsed{key});
    read();
  }

  // Ends this connection and plans the next. What is in force stays in force.
  void lost(const char* why) {
    if (up && !stopped) log::info(std::string("config bus: connection ended (") + why + "), reconnecting");
    close();
    if (stopped) return;
    std::uniform_real_distribution<double> jitter(0.5, 1.5);
    retry.expires_after(std::chrono::duration_cast<nanoseconds>(delay * jitter(random)));
    delay = std::min(delay * 2, options.longest_retry);
    retry.async_wait([self = shared_from_this(), l = life](auto error) {
      if (!error && l == self->life) self->connect();
    });
  }

  void close() noexcept {
    ++life;
    up = false;
    boost::system::error_code ignored;
    socket.close(ignored);
    reader.clear();
    outgoing.clear();
    writing = reading = false;
    forget_partial();
  }

  // The peer broke the rules, or what we have does not fit what it sends: start over from a snapshot.
  void start_over(const char* why) {
    log::warn(std::string("config bus: ") + why + "; asking for a snapshot");
    position = {};
    lost(why);
  }

  // ---- reading
  void read() {
    if (std::exchange(reading, true)) return;
    socket.async_read_some(asio::buffer(chunk), [self = shared_from_this(), l = life](auto error, std::size_t n) {
      if (l != self->life || self->stopped) return;
      self->reading = false;
      if (error) return self->lost("closed by the other side");
      self->reader.append({self->chunk.data(), n});
      self->work();
    });
  }

  // Takes frames until none is complete or one needs the loop's patience; then reading goes on later.
  void work() {
    const auto my_life = life;
    bus::Frame frame;
    while (!applying && !stopped) {
      const auto status = reader.next(frame);
      if (status == bus::FrameReader::Status::need_more) return read();
      if (status == bus::FrameReader::Status::broken) return start_over(reader.reason());
      auto message = bus::decode(frame);
      if (!message) return start_over("frame without a known meaning");
      const bool fine = std::visit([this](auto& m) { return on(m); }, *message);
      if (my_life != life) return;
      if (!fine) return start_over("message out of order");
    }
  }

  bool on(bus::SnapshotBegin& m) {
    forget_partial();
    collecting = true;
    expected = m.count;
    pending = m.at;
    return m.at.epoch != 0;
  }
  bool on(bus::SnapshotPart& m) {
    if (!collecting || m.changes.size() > expected - changes.size()) return false;
    std::move(m.changes.begin(), m.changes.end(), std::back_inserter(changes));
    return true;
  }
  bool on(bus::SnapshotEnd& m) {
    if (!collecting || m.at != pending || m.count != expected || changes.size() != expected) return false;
    apply(true);
    return true;
  }
  bool on(bus::Resume& m) {
    delay = options.first_retry;
    return m.from == position && position.epoch != 0;
  }
  bool on(bus::BatchPart& m) {
    if (collecting || m.at.epoch != position.epoch || m.at.sequence != position.sequence + 1) return false;
    pending = m.at;
    std::move(m.changes.begin(), m.changes.end(), std::back_inserter(changes));
    if (m.last) apply(false);
    return true;
  }
  bool on(bus::Addresses& m) {
    target.set_addresses(m.name, m.addresses);
    return true;
  }
  bool on(bus::Question& m) {
    send(bus::Answer{m.id, hooks.answer ? hooks.answer(m.json) : std::string()});
    return true;
  }
  // What only workers say.
  bool on(bus::Hello&) { return false; }
  bool on(bus::Ack&) { return false; }
  bool on(bus::ObjectErrorReport&) { return false; }
  bool on(bus::Resolve&) { return false; }
  bool on(bus::UpstreamUsed&) { return false; }
  bool on(bus::Answer&) { return false; }

  void forget_partial() noexcept {
    collecting = false;
    changes.clear();
    changes.shrink_to_fit();
  }

  // ---- applying: nothing more is taken from the stream until the batch is in force
  void apply(bool whole) {
    collecting = false;
    applying = true;
    target.stage(std::exchange(changes, {}), whole);
    slice();
  }

  void slice() {
    if (stopped) return;
    // Nobody waits for this loop before the first snapshot is in force.
    const nanoseconds patience = served ? options.slice : options.slice * kFirstSlices;
    if (!target.step(options.clock() + patience)) {
      asio::post(io, [self = shared_from_this()] {
        if (!self->stopped) {
          self->slice();
          if (!self->applying && self->up) self->work();
        }
      });
      return;
    }
    const std::vector<ObjectError> errors = target.publish();
    position = pending;
    applying = false;
    delay = options.first_retry;
    report(errors);
  }

  void report(const std::vector<ObjectError>& errors) {
    for (std::size_t i = 0; i < errors.size(); ++i) {
      if (hooks.on_object_error) hooks.on_object_error(errors[i]);
      if (i >= kMaxReportedErrors) continue;
      ObjectError told = errors[i];
      if (told.message.size() > kMaxErrorText) told.message.resize(kMaxErrorText);
      send(bus::ObjectErrorReport{std::move(told)});
    }
    if (hooks.on_applied) hooks.on_applied(position, errors.size());
    send(bus::Ack{position, static_cast<std::uint32_t>(errors.size())});
    if (!std::exchange(served, true) && hooks.on_first_snapshot) hooks.on_first_snapshot();
  }

  // ---- writing
  void send(const bus::Message& message) {
    if (!up) return;
    if (outgoing.size() > kMaxOutgoing) return lost("the other side does not read");
    bus::encode(message, outgoing);
    if (!writing) write();
  }

  void write() {
    writing = true;
    in_flight.swap(outgoing);
    outgoing.clear();
    asio::async_write(socket, asio::buffer(in_flight), [self = shared_from_this(), l = life](auto error, std::size_t) {
      if (l != self->life || self->stopped) return;
      self->writing = false;
      // The reader sees the end too, after what is still to be read; a write error alone changes nothing.
      if (!error && !self->outgoing.empty()) self->write();
    });
  }

  asio::io_context& io;
  BusClientOptions options;
  ChangeTarget& target;
  BusClientHooks hooks;
  Local::socket socket;
  asio::steady_timer retry;
  std::mt19937_64 random;
  nanoseconds delay;

  std::uint64_t life = 0;  // of the connection: handlers of an older one do nothing
  bool up = false;
  bool stopped = false;
  bool served = false;     // a first snapshot has been in force

  bus::FrameReader reader{bus::kMaxDownwardPayload};
  std::array<char, 64 * 1024> chunk;
  std::string outgoing, in_flight;
  bool writing = false;
  bool reading = false;

  bus::Position position;          // in force
  bus::Position pending;           // being collected or applied
  bool collecting = false;         // between the begin and the end of a snapshot
  bool applying = false;
  std::uint64_t expected = 0;
  std::vector<Change> changes;

  std::set<std::string, std::less<>> names;
  std::set<std::string, std::less<>> used;
};

BusClient::BusClient(asio::io_context& io, BusClientOptions options, ChangeTarget& target, BusClientHooks hooks)
    : impl_(std::make_shared<Impl>(io, std::move(options), target, std::move(hooks))) {}

BusClient::~BusClient() { stop(); }

void BusClient::start() { impl_->connect(); }

void BusClient::stop() noexcept {
  impl_->stopped = true;
  impl_->close();
  impl_->retry.cancel();
}

void BusClient::resolve(std::string_view name) {
  if (impl_->names.emplace(name).second) impl_->send(bus::Resolve{{std::string(name)}});
}

void BusClient::forget(std::string_view name) {
  if (const auto it = impl_->names.find(name); it != impl_->names.end()) impl_->names.erase(it);
}

void BusClient::upstream_used(std::string_view key) {
  if (impl_->used.emplace(key).second) impl_->send(bus::UpstreamUsed{std::string(key)});
}

const bus::Position& BusClient::position() const noexcept { return impl_->position; }
bool BusClient::connected() const noexcept { return impl_->up; }

}  // namespace sluice::live
