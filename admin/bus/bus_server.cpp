// See bus_server.hpp.
#include "admin/bus/bus_server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <map>
#include <utility>

#include "admin/bus/bus_names.hpp"
#include "admin/bus/bus_peer.hpp"
#include "admin/bus/bus_state.hpp"
#include "conf/base/json.hpp"
#include "conf/base/log.hpp"

namespace sluice::admin {

namespace asio = boost::asio;
namespace bus = live::bus;
using Local = asio::local::stream_protocol;

namespace {
constexpr std::size_t kMaxPeers = 512;
// How often the worker table is looked at again while a write waits for a worker that is not connected.
constexpr nanoseconds kTableInterval = milliseconds(5);
constexpr nanoseconds kAnswerBound = seconds(2);
constexpr nanoseconds kAcceptPause = milliseconds(100);
}  // namespace

struct BusServer::Impl : BusPeerOwner, std::enable_shared_from_this<BusServer::Impl> {
  Impl(asio::io_context& io, int fd, BusOptions o, BusHooks h, NameSource* n)
      : io(io), acceptor(io), accept_pause(io), wait_timer(io), hold_timer(io), options(std::move(o)),
        hooks(std::move(h)), names(n), state(options.epoch, {options.ring_batches, options.ring_bytes}) {
    if (const int mine = ::dup(fd); mine >= 0) acceptor.assign(Local(), mine);
  }

  // ---- connections
  // The first snapshot goes out with addresses: until the names at start are settled (bounded), peers wait in the
  // listener's queue.
  void open_when_ready() {
    if (open || stopped || started == TimePoint{} || !acceptor.is_open()) return;
    names.drop_settled(first_names);
    const TimePoint latest = started + options.names_bound;
    if (!first_names.empty() && options.clock() < latest) {
      hold_timer.expires_at(latest);
      hold_timer.async_wait([self = shared_from_this()](auto error) {
        if (!error) self->open_when_ready();
      });
      return;
    }
    open = true;
    accept();
    release_held();
  }

  void accept() {
    acceptor.async_accept([self = shared_from_this()](auto error, Local::socket socket) {
      if (self->stopped) return;
      if (!error) self->welcome(std::move(socket));
      else log::warn("config bus: accept: " + error.message());
      if (!error) return self->accept();
      self->accept_pause.expires_after(kAcceptPause);  // out of descriptors: the peer waits in the queue
      self->accept_pause.async_wait([self](auto e) {
        if (!e && !self->stopped) self->accept();
      });
    });
  }

  void welcome(Local::socket socket) {
    ucred who{};
    socklen_t size = sizeof who;
    const bool known = getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
    if (!known || (who.uid != geteuid() && who.uid != 0) || peers.size() >= kMaxPeers) {
      log::warn("config bus: a connection of another user's process was refused");
      return;
    }
    auto peer = std::make_shared<BusPeer>(std::move(socket), options.peer_queue_bytes, *this);
    peer->credential_pid = static_cast<std::uint32_t>(who.pid);
    peers.push_back(peer);
    peer->start();
  }

  void on_gone(BusPeer& peer, const char* why) override {
    if (peer.overflowed()) ++overflow_count;
    if (peer.hello)
      log::info("config bus: worker in slot " + std::to_string(peer.hello->slot) + " left: " + why);
    std::erase_if(peers, [&](const auto& p) { return p.get() == &peer; });
    names.worker_left(&peer);
    drop_questions_of(peer);
    settle_soon();
  }

  // ---- messages
  void on_message(BusPeer& peer, bus::Message& message) override {
    if (stopped) return;
    if (auto* hello = std::get_if<bus::Hello>(&message)) return on_hello(peer, *hello);
    if (!peer.hello) return peer.close("did not say hello");
    const bool fine = std::visit([&](auto& m) { return on(peer, m); }, message);
    if (!fine) peer.close("message out of order");
  }

  void on_hello(BusPeer& peer, const bus::Hello& hello) {
    if (peer.hello || hello.pid != peer.credential_pid) return peer.close("is not who it says");
    if (hooks.is_worker && !hooks.is_worker(hello.slot, hello.pid)) {
      log::warn("config bus: process " + std::to_string(hello.pid) + " is no worker of this gateway and was refused");
      return peer.close("is no worker of this gateway");
    }
    // A slot has one process: what is left of an older connection of it goes.
    for (const auto& other : std::vector(peers))
      if (other.get() != &peer && other->hello && other->hello->slot == hello.slot) other->close("replaced");
    peer.hello = hello;
    for (const std::string& name : names.wanted()) send_addresses(peer, name);
    std::vector<const BusState::Batch*> missed;
    if (state.missed(hello.last, missed)) {
      peer.acknowledged = hello.last.sequence;
      peer.send(bus::Resume{hello.last});
      for (const BusState::Batch* batch : missed)
        for (const Octets& frame : batch->frames) peer.send(frame);
    } else {
      ++snapshot_count;
      peer.send_snapshot(state.position(), state.revision(), state.snapshot());
    }
    settle_soon();
  }

  bool on(BusPeer& peer, bus::Ack& m) {
    if (m.at.epoch != options.epoch || m.at.sequence > state.position().sequence) return false;
    peer.acknowledged = std::max(peer.acknowledged, m.at.sequence);
    // In time again: nothing is unacknowledged, or the oldest such batch is young.
    const BusState::Batch* next = state.batch(peer.acknowledged + 1);
    if (peer.acknowledged == state.position().sequence ||
        (next && options.clock() - next->published < options.write_bound / 2))
      waits.caught_up(id_of(peer));
    settle();
    return true;
  }
  bool on(BusPeer& peer, bus::ObjectErrorReport& m) {
    if (hooks.on_object_error) hooks.on_object_error(peer.hello->slot, m.error);
    return true;
  }
  bool on(BusPeer& peer, bus::Resolve& m) {
    for (const std::string& name : m.names) {
      if (!names.ask(&peer, name)) return false;
      send_addresses(peer, name);
    }
    return true;
  }
  bool on(BusPeer& peer, bus::UpstreamUsed& m) {
    if (hooks.on_upstream_used) hooks.on_upstream_used(peer.hello->slot, m.key);
    return true;
  }
  bool on(BusPeer& peer, bus::Answer& m) {
    const auto it = questions.find(m.id);
    if (it == questions.end() || it->second.peer != &peer) return true;  // too late
    finish_question(it, std::move(m.json));
    return true;
  }
  // What only this side says.
  template <class M>
  bool on(BusPeer&, M&) {
    return false;
  }

  // ---- names
  void send_addresses(BusPeer& peer, const std::string& name) {
    if (const NameAnswer* answer = names.answer(name))
      peer.send(bus::Addresses{name, answer->ttl_seconds, answer->addresses});
  }

  void on_answer(std::string_view name, const NameAnswer& answer) {
    const auto frame = std::make_shared<const std::string>(
        bus::encode(bus::Addresses{std::string(name), answer.ttl_seconds, answer.addresses}));
    for (const auto& peer : std::vector(peers))
      if (peer->hello) peer->send(frame);
    release_held();
  }

  // ---- writes
  struct Held {
    std::uint64_t revision;
    bool whole;  // the changes are everything there is to be
    std::vector<live::Change> changes;
    OnApplied done;
    TimePoint received;
    std::vector<std::string> unsettled;
  };

  void publish(std::uint64_t revision, bool whole, std::vector<live::Change> changes, OnApplied done) {
    Held write{revision, whole, std::move(changes), std::move(done), options.clock(), {}};
    write.unsettled = names.unsettled(write.changes);
    held.push_back(std::move(write));
    release_held();
  }

  // Sends off the writes whose names are settled, in order; the first that still waits holds those behind it.
  void release_held() {
    if (!open) return open_when_ready();
    if (std::exchange(releasing, true)) return;  // a callback has published
    const TimePoint now = options.clock();
    while (!held.empty()) {
      Held& first = held.front();
      names.drop_settled(first.unsettled);
      if (!first.unsettled.empty() && now - first.received < options.names_bound) break;
      Held write = std::move(first);
      held.pop_front();
      commit(std::move(write));
    }
    releasing = false;
    if (held.empty()) return;
    hold_timer.expires_at(held.front().received + options.names_bound);
    hold_timer.async_wait([self = shared_from_this()](auto error) {
      if (!error && !self->stopped) self->release_held();
    });
  }

  void commit(Held write) {
    if (write.whole) write.changes = state.difference(write.changes);
    BusState::NameEdits edits;
    const BusState::Batch& batch = state.append(write.revision, write.changes, options.clock(), edits);
    names.edit(edits, state);
    const std::vector<Octets> frames = batch.frames;
    const std::uint64_t sequence = batch.at.sequence;
    for (const auto& peer : std::vector(peers)) {
      if (!peer->hello) continue;
      for (const Octets& frame : frames)
        if (!peer->send(frame)) break;
    }
    waits.add(sequence, write.received + options.write_bound, std::move(write.done));
    settle();
  }

  // ---- waiting for workers
  static LiveWorker id_of(const BusPeer& peer) { return {peer.hello->slot, peer.hello->pid}; }

  AckWaits::Workers live_workers() const {
    AckWaits::Workers workers;
    if (hooks.accepting_workers)
      for (const LiveWorker& worker : hooks.accepting_workers()) workers[worker] = 0;
    for (const auto& peer : peers)
      if (peer->hello && peer->hello->generation == options.generation) workers[id_of(*peer)] = peer->acknowledged;
    return workers;
  }

  void settle() {
    const TimePoint now = options.clock();
    const AckWaits::Workers workers = live_workers();
    waits.settle(workers, now);
    if (waits.empty()) return;
    TimePoint next = waits.next_deadline();
    const bool away = std::any_of(workers.begin(), workers.end(), [](const auto& w) { return w.second == 0; });
    if (away) next = std::min(next, now + kTableInterval);
    wait_timer.expires_at(next);
    wait_timer.async_wait([self = shared_from_this()](auto error) {
      if (!error && !self->stopped) self->settle();
    });
  }

  // Not from inside a peer's own call chain: callbacks of writes run in settle().
  void settle_soon() {
    if (waits.empty()) return;
    wait_timer.expires_at(options.clock());
    wait_timer.async_wait([self = shared_from_this()](auto error) {
      if (!error && !self->stopped) self->settle();
    });
  }

  // ---- questions
  struct Asked {
    BusPeer* peer;
    std::shared_ptr<asio::steady_timer> timer;
    std::function<void(std::optional<std::string>)> done;
  };
  using Questions = std::map<std::uint64_t, Asked>;

  void ask(std::string question, std::function<void(std::optional<std::string>)> done) {
    std::shared_ptr<BusPeer> best;
    for (const auto& peer : peers) {
      if (!peer->hello || peer->hello->generation != options.generation || peer->acknowledged == 0) continue;
      if (!best || peer->acknowledged > best->acknowledged) best = peer;
    }
    if (!best) return done(std::nullopt);
    const std::uint64_t id = ++last_question;
    auto timer = std::make_shared<asio::steady_timer>(io, kAnswerBound);
    questions[id] = {best.get(), timer, std::move(done)};
    timer->async_wait([self = shared_from_this(), id](auto error) {
      if (error || self->stopped) return;
      if (const auto it = self->questions.find(id); it != self->questions.end())
        self->finish_question(it, std::nullopt);
    });
    best->send(bus::Question{id, std::move(question)});
  }

  void finish_question(Questions::iterator it, std::optional<std::string> answer) {
    const Asked asked_one = std::move(it->second);
    questions.erase(it);
    asked_one.timer->cancel();
    asked_one.done(std::move(answer));
  }

  void drop_questions_of(const BusPeer& peer) {
    std::vector<std::uint64_t> ids;
    for (const auto& [id, question] : questions)
      if (question.peer == &peer) ids.push_back(id);
    for (const std::uint64_t id : ids)
      if (const auto it = questions.find(id); it != questions.end()) finish_question(it, std::nullopt);
  }

  void stop() noexcept {
    stopped = true;
    boost::system::error_code ignored;
    acceptor.close(ignored);
    accept_pause.cancel();
    wait_timer.cancel();
    hold_timer.cancel();
    for (const auto& peer : peers) peer->abandon();
    peers.clear();
    for (const auto& [id, question] : questions) question.timer->cancel();
    questions.clear();
  }

  asio::io_context& io;
  Local::acceptor acceptor;
  asio::steady_timer accept_pause, wait_timer, hold_timer;
  BusOptions options;
  BusHooks hooks;
  BusNames names;
  BusState state;
  AckWaits waits;
  std::vector<std::shared_ptr<BusPeer>> peers;
  std::deque<Held> held;
  std::vector<std::string> first_names;
  TimePoint started{};
  bool open = false;
  bool releasing = false;
  bool stopped = false;
  Questions questions;
  std::uint64_t last_question = 0;
  std::size_t snapshot_count = 0, overflow_count = 0;
};

BusServer::BusServer(asio::io_context& io, int listener, BusOptions options, BusHooks hooks, NameSource* names)
    : impl_(std::make_shared<Impl>(io, listener, std::move(options), std::move(hooks), names)) {
  if (names)
    names->on_answer = [weak = std::weak_ptr(impl_)](std::string_view name, const NameAnswer& answer) {
      if (const auto impl = weak.lock(); impl && !impl->stopped) impl->on_answer(name, answer);
    };
}

BusServer::~BusServer() { stop(); }

void BusServer::load(std::uint64_t revision, const std::vector<live::Change>& everything) {
  impl_->names.edit(impl_->state.load(revision, everything), impl_->state);
  impl_->first_names = impl_->names.unsettled(everything);
}

void BusServer::start() {
  impl_->started = impl_->options.clock();
  impl_->open_when_ready();
}

void BusServer::stop() noexcept { impl_->stop(); }

void BusServer::publish(std::uint64_t revision, std::vector<live::Change> changes, OnApplied done) {
  impl_->publish(revision, false, std::move(changes), std::move(done));
}

void BusServer::replace(std::uint64_t revision, std::vector<live::Change> everything, OnApplied done) {
  impl_->publish(revision, true, std::move(everything), std::move(done));
}

void BusServer::ask(std::string question, std::function<void(std::optional<std::string>)> done) {
  impl_->ask(std::move(question), std::move(done));
}

void BusServer::reload_plugins(const std::string& names_json) {
  const auto names = parse_json(names_json);
  if (!names || !names->IsArray()) return;
  JsonDoc list(rapidjson::kArrayType);
  for (const Json& name : names->GetArray()) {
    Json entry(rapidjson::kObjectType);
    entry.AddMember("name", Json(name, list.GetAllocator()), list.GetAllocator());
    list.PushBack(entry, list.GetAllocator());
  }
  const auto revision = impl_->state.revision();
  impl_->publish(revision, false, {{conf::Kind::plugins, "plugins", false, to_json(list), revision, revision}}, {});
}

std::uint64_t BusServer::sequence() const noexcept { return impl_->state.position().sequence; }
std::uint64_t BusServer::revision() const noexcept { return impl_->state.revision(); }
std::size_t BusServer::peers() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(impl_->peers.begin(), impl_->peers.end(), [](const auto& p) { return p->hello.has_value(); }));
}
std::size_t BusServer::snapshots_sent() const noexcept { return impl_->snapshot_count; }
std::size_t BusServer::overflows() const noexcept { return impl_->overflow_count; }

}  // namespace sluice::admin
