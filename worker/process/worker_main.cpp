// A worker: one thread, one io_context, one reactor. What stands for the whole life of the process is a member of Worker;
// what happens per request is in worker/exchange.
#include "worker/process/worker_main.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <memory>
#include <vector>

#include "conf/base/log.hpp"
#include "plugins/sdk/registry.hpp"
#include "worker/exchange/session.hpp"
#include "worker/exchange/worker_context.hpp"
#include "worker/live/bus_link.hpp"
#include "worker/outbox/access_log.hpp"
#include "worker/process/acceptor.hpp"

namespace sluice::worker {

namespace asio = boost::asio;

namespace {

constexpr int kAccepterTickMs = 2;
constexpr nanoseconds kBeforeDeadline = seconds(2);  // idle connections of a draining worker are closed then

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

sdk::PluginHost make_host(const WorkerStart& start) {
  sdk::PluginHost host;
  host.catalog = start.catalog;
  host.worker_slot = static_cast<int>(start.slot);
  host.plugin_attr = &start.node->plugin_attr.get();
  if (start.node->apisix.ssl.enable)
    for (const conf::Listen& l : start.node->apisix.ssl.listen) host.tls_ports.push_back(l.port);
  return host;
}

class Worker {
 public:
  explicit Worker(const WorkerStart& start);
  int run();

 private:
  void open_access_log();
  void begin_accepting();
  void on_signal(int signal);
  void wait_for_signal();
  void drain(std::string_view why);
  void close_idle();
  void stop();
  void tick();
  void every_second();
  void tend_acceptors();
  void publish_refusals();

  const WorkerStart& start_;
  asio::io_context context_{1};
  Reactor reactor_;
  UpstreamPool pool_{reactor_};
  Settings settings_;
  std::string hostname_ = host_name();
  sdk::PluginHost host_;
  sdk::EnabledPlugins enabled_;
  live::Tables tables_;
  std::unique_ptr<AccessLog> access_log_;
  shm::WorkerStatus& status_;
  WorkerContext worker_;
  std::unique_ptr<live::BusLink> bus_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  asio::signal_set signals_{context_};
  asio::steady_timer acceptor_timer_{context_};
  bool acceptor_timer_set_ = false;
  bool accepting_ = false;
  bool idle_closed_ = false;
  TimePoint drain_until_{};
  unsigned ticks_ = 0;
  std::array<shm::Series, static_cast<std::size_t>(Refusal::kCount)> refusal_series_{};
  std::array<std::uint64_t, static_cast<std::size_t>(Refusal::kCount)> refusals_published_{};
};

Worker::Worker(const WorkerStart& start)
    : start_(start),
      settings_(make_settings(*start.node)),
      host_(make_host(start)),
      enabled_(start.node->plugins),
      tables_(live::tables_options(*start.node), host_, enabled_),
      status_(start.catalog->workers().status(start.slot)),
      worker_{reactor_, tables_, pool_, settings_, nullptr, {}, &status_, &start.catalog->workers()} {
  worker_.process = {hostname_, start.index, static_cast<int>(::getpid())};
  sdk::set_variable_limits({static_cast<std::size_t>(start.node->apisix.max_post_args_bytes),
                            static_cast<std::size_t>(start.node->graphql_max_size)});
  open_access_log();
  live::BusClientOptions options;
  options.address = start.bus_address;
  options.slot = start.slot;
  options.pid = static_cast<std::uint32_t>(::getpid());
  options.generation = start.generation;
  live::BusClientHooks hooks;
  hooks.on_first_snapshot = [this] { begin_accepting(); };
  bus_ = std::make_unique<live::BusLink>(context_, tables_, &status_, std::move(options), std::move(hooks));
  worker_.upstream_used_argument = this;
  worker_.upstream_used = [](void* self, const live::Upstream& upstream) {
    if (upstream.has_checks()) static_cast<Worker*>(self)->bus_->client().upstream_used(upstream.resource_key());
  };
  for (std::size_t i = 0; i < refusal_series_.size(); ++i) {
    const std::string text =
        "sluice_refused_requests_total{reason=\"" + std::string(name_of(static_cast<Refusal>(i))) + "\"}";
    refusal_series_[i] = start.catalog->metrics().intern(shm::SeriesKind::counter, text);
  }
}

void Worker::open_access_log() {
  const auto& wanted = start_.node->nginx.access_log;
  if (!wanted.enabled) return;
  AccessLog::Options options;
  options.path = wanted.path;
  options.format = wanted.format;
  options.buffer = wanted.buffer;
  switch (wanted.escape) {
    case conf::AccessLogConfig::Escape::json: options.escape = AccessLog::Escape::json; break;
    case conf::AccessLogConfig::Escape::none: options.escape = AccessLog::Escape::none; break;
    default: break;
  }
  auto opened = AccessLog::open(options);
  if (!opened) {
    log::error(opened.error().message() + "; requests are not logged");
    return;
  }
  access_log_ = std::move(*opened);
  worker_.access_log = access_log_.get();
}

void Worker::begin_accepting() {
  if (accepting_ || worker_.draining) return;
  accepting_ = true;
  for (const ListenSocket& socket : start_.proxy_listeners) {
    auto acceptor = std::make_unique<Acceptor>(worker_, socket, start_.node->nginx.worker_connections,
                                               static_cast<int>(start_.slot));
    acceptor->on_pause_argument = this;
    acceptor->on_pause = [](void* self) { static_cast<Worker*>(self)->tend_acceptors(); };
    if (!acceptor->watch()) log::crit("cannot watch the listener " + socket.address);
    acceptors_.push_back(std::move(acceptor));
  }
  status_.ready.store(1, std::memory_order_release);
}

void Worker::tend_acceptors() {
  if (acceptor_timer_set_) return;
  acceptor_timer_set_ = true;
  acceptor_timer_.expires_after(milliseconds(kAccepterTickMs));
  acceptor_timer_.async_wait([this](const boost::system::error_code& e) {
    acceptor_timer_set_ = false;
    if (e) return;
    bool more = false;
    for (auto& acceptor : acceptors_) {
      acceptor->tick();
      more = more || acceptor->paused();
    }
    if (more) tend_acceptors();
  });
}

void Worker::wait_for_signal() {
  signals_.async_wait([this](const boost::system::error_code& e, int signal) {
    if (e) return;
    on_signal(signal);
    wait_for_signal();
  });
}

void Worker::on_signal(int signal) {
  switch (signal) {
    case SIGTERM:
    case SIGINT: stop(); break;
    case SIGQUIT:
      // A second time: newer generations drain too, and this one shall leave as soon as nothing is under way.
      if (worker_.draining && !worker_.stopping) close_idle();
      drain("asked to");
      break;
    case SIGUSR1:
      if (!log::reopen()) log::error(std::string("the error log cannot be reopened: ") + std::strerror(errno));
      if (access_log_ && !access_log_->reopen())
        log::error(std::string("the access log cannot be reopened: ") + std::strerror(errno));
      break;
    default: break;
  }
}

// No new connections; each one that is open gets one more answer, which closes it.
void Worker::drain(std::string_view why) {
  if (worker_.draining) return;
  log::notice("draining: " + std::string(why));
  worker_.draining = true;
  status_.draining.store(1, std::memory_order_release);
  status_.ready.store(0, std::memory_order_release);
  for (auto& acceptor : acceptors_) acceptor->stop();
  if (!accepting_)
    for (const ListenSocket& socket : start_.proxy_listeners) ::close(socket.fd);
  drain_until_ = reactor_.now() + start_.node->nginx.worker_shutdown_timeout;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);
  ::sched_setaffinity(0, sizeof all, &all);  // the next generation has the processors now
  if (worker_.session_count == 0) stop();
}

void Worker::close_idle() {
  idle_closed_ = true;
  for (Session* s = worker_.sessions; s != nullptr;) {
    Session* const next = s->next_in_worker();
    s->drain();
    s = next;
  }
}

void Worker::stop() {
  if (worker_.stopping) return;
  worker_.draining = worker_.stopping = true;
  status_.ready.store(0, std::memory_order_release);
  for (auto& acceptor : acceptors_) acceptor->stop();
  // Every session runs to its log phase; what it held is given back.
  for (Session* s = worker_.sessions; s != nullptr;) {
    Session* const next = s->next_in_worker();
    s->fiber.cancel();
    s = next;
  }
  reactor_.finish_ready();
  pool_.clear();
  if (access_log_) access_log_->flush();
  bus_->stop();
  reactor_.detach();
  context_.stop();
}

void Worker::publish_refusals() {
  const shm::CellPage page = start_.catalog->metrics().page(start_.slot);
  for (std::size_t i = 0; i < refusal_series_.size(); ++i) {
    const std::uint64_t n = worker_.refusals[i] - refusals_published_[i];
    if (n == 0) continue;
    page.add(refusal_series_[i], n);
    refusals_published_[i] = worker_.refusals[i];
  }
}

void Worker::every_second() {
  pool_.expire(reactor_.now());
  publish_refusals();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  status_.memory_bytes.store(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024, std::memory_order_relaxed);
  if (::getppid() != start_.master_pid) drain("the master is gone");
}

void Worker::tick() {
  const TimePoint now = reactor_.now();
  status_.heartbeat_ns.store(to_ns(now), std::memory_order_release);
  status_.waiting.store(worker_.idle_count, std::memory_order_relaxed);
  status_.writing.store(worker_.session_count - worker_.idle_count, std::memory_order_relaxed);
  if (access_log_) access_log_->tick(now);
  if (++ticks_ % 10 == 0) every_second();
  if (!worker_.draining || worker_.stopping) return;
  if (!idle_closed_ && now + kBeforeDeadline >= drain_until_) close_idle();
  if (worker_.session_count == 0 || now >= drain_until_) stop();
}

int Worker::run() {
  for (const int s : {SIGTERM, SIGINT, SIGQUIT, SIGUSR1}) signals_.add(s);
  wait_for_signal();
  sigset_t mine;
  sigemptyset(&mine);
  for (const int s : {SIGTERM, SIGINT, SIGQUIT, SIGUSR1}) sigaddset(&mine, s);
  ::sigprocmask(SIG_UNBLOCK, &mine, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  status_.started_ns.store(to_ns(reactor_.now()), std::memory_order_relaxed);
  status_.heartbeat_ns.store(to_ns(reactor_.now()), std::memory_order_release);
  status_.pid.store(static_cast<std::int32_t>(::getpid()), std::memory_order_release);
  reactor_.attach(context_, [](void* self) { static_cast<Worker*>(self)->tick(); }, this);
  bus_->start();
  context_.run();
  return 0;
}

}  // namespace

int run_worker(const WorkerStart& start) noexcept {
  try {
    Worker worker(start);
    return worker.run();
  } catch (const std::exception& e) {
    log::crit(std::string("worker: ") + e.what());
  }
  return 1;
}

}  // namespace sluice::worker
