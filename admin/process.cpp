#include "admin/process.hpp"

#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <memory>

#include "admin/api/api.hpp"
#include "admin/bus/accepting_workers.hpp"
#include "admin/bus/bus_server.hpp"
#include "admin/control/control.hpp"
#include "admin/control/status.hpp"
#include "admin/dns/resolver.hpp"
#include "admin/http/server.hpp"
#include "admin/metrics/full_dictionaries.hpp"
#include "admin/metrics/metrics.hpp"
#include "admin/node_options.hpp"
#include "admin/store/embedded.hpp"
#include "admin/store/file_provider.hpp"
#include "conf/base/log.hpp"
#include "plugins/sdk/exposition.hpp"

namespace sluice::admin {

namespace asio = boost::asio;

namespace {

std::int64_t wall_ms() {
  return std::chrono::duration_cast<milliseconds>(wall_now().time_since_epoch()).count();
}

class BusSink final : public ChangeSink {
 public:
  explicit BusSink(BusServer& bus) : bus_(bus) {}
  void publish(std::uint64_t revision, std::vector<live::Change> batch, Applied done) override {
    bus_.publish(revision, std::move(batch), [done = std::move(done)](sluice::admin::Applied a) {
      if (done) done(a.applied, a.workers);
    });
  }
  void plugins_changed(const std::string& names_json) override { bus_.reload_plugins(names_json); }

 private:
  BusServer& bus_;
};

// Everything the admin process has, in the order in which it is made; it comes down in the opposite order.
class AdminProcess {
 public:
  explicit AdminProcess(const AdminStart& start)
      : start_(start), node_(*start.node), signals_(io_), tick_(io_), beat_(io_),
        full_([this](std::string_view name) { return shared_dict_key(node_, name); }) {}

  int run();

 private:
  Result<void> open_configuration();
  Result<void> open_store();
  void open_file();
  Result<void> open_names();
  void open_bus(std::uint64_t epoch, std::uint64_t revision, const std::vector<live::Change>& everything);
  void open_listeners();
  void listen(worker::ListenSocket::Role role, http::Handler handler);
  Result<void> reload_plugins();
  void on_signal(int number);
  void every_second();
  void heartbeat();
  void drain();
  bool quiet() const;

  const AdminStart& start_;
  const conf::NodeConfig& node_;
  asio::io_context io_{1};
  asio::signal_set signals_;
  asio::steady_timer tick_, beat_;

  std::unique_ptr<Sealer> sealer_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Configuration> configuration_;
  Image file_image_;
  KeyIndex keys_;
  std::unique_ptr<Checker> checker_;
  std::unique_ptr<FileProvider> file_;
  std::unique_ptr<Resolver> names_;
  std::unique_ptr<BusServer> bus_;
  std::unique_ptr<BusSink> sink_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<Status> status_;
  std::unique_ptr<sdk::Exposition> exposition_;
  std::unique_ptr<Metrics> metrics_;
  FullDictionaries full_;
  std::vector<std::unique_ptr<http::Server>> servers_;
  TimePoint drain_until_{};
};

constexpr auto kDrainLimit = seconds(10);

Result<void> AdminProcess::open_store() {
  auto keyring = keyring_of(start_);
  if (!keyring) return keyring.error();
  sealer_ = std::make_unique<Sealer>(std::move(*keyring), node_.apisix.encrypt_fields);
  EmbeddedOptions options;
  options.path = node_.sluice.data_dir + "/config.db";
  options.post = [this](std::function<void()> f) { asio::post(io_, std::move(f)); };
  store_ = make_embedded_store(std::move(options));
  configuration_ = std::make_unique<Configuration>(*store_, *sealer_, nullptr);
  configuration_->image().observe(&keys_);
  return configuration_->open();
}

void AdminProcess::open_file() {
  FileSource source;
  source.format = node_.provider == conf::Provider::json ? conf::StandaloneFormat::json : conf::StandaloneFormat::yaml;
  source.path = start_.config_dir + (node_.provider == conf::Provider::json ? "/apisix.json" : "/apisix.yaml");
  source.environment = conf::process_environment();
  if (const auto profile = source.environment("APISIX_PROFILE"); profile && !profile->empty())
    source.path.insert(source.path.rfind('.'), "-" + *profile);
  // The folder may be known by a descriptor only; messages name the file as its owner does.
  source.shown = node_.file.substr(0, node_.file.rfind('/') + 1) + source.path.substr(source.path.rfind('/') + 1);
  file_ = std::make_unique<FileProvider>(std::move(source), file_image_, *checker_);
  file_->poll();
}

Result<void> AdminProcess::open_configuration() {
  const bool from_file = node_.file_provider();
  if (auto made = open_names(); !made) return made;
  if (!from_file)
    if (auto opened = open_store(); !opened) return opened;
  sdk::PluginHost host;
  host.catalog = start_.catalog;
  host.plugin_attr = &node_.plugin_attr.get();
  const Image& image = from_file ? file_image_ : configuration_->image();
  checker_ = std::make_unique<Checker>(image, keys_, sdk::EnabledPlugins(node_.plugins), std::move(host), node_.stream_plugins);
  if (!from_file) {
    open_bus(configuration_->epoch(), configuration_->revision(), configuration_->everything());
    configuration_->set_sink(sink_.get());
    return {};
  }
  open_file();
  // No store counts the lives of this process: the clock does.
  open_bus(static_cast<std::uint64_t>(wall_ms()), file_->revision(), file_->everything());
  return {};
}

Result<void> AdminProcess::open_names() {
  auto made = Resolver::create(io_, resolver_options(node_));
  if (!made) return made.error();
  names_ = std::move(*made);
  return {};
}

void AdminProcess::open_bus(std::uint64_t epoch, std::uint64_t revision, const std::vector<live::Change>& everything) {
  BusOptions options;
  options.epoch = epoch;
  options.generation = start_.generation;
  BusHooks hooks;
  hooks.accepting_workers = [this] { return accepting_workers(start_.catalog->workers(), start_.generation); };
  hooks.is_worker = [this](std::uint32_t slot, std::uint32_t pid) {
    const shm::WorkerTable& workers = start_.catalog->workers();
    return slot < workers.slots() && workers.status(slot).pid.load() == static_cast<std::int32_t>(pid);
  };
  hooks.on_object_error = [](std::uint32_t slot, const live::ObjectError& e) {
    log::error("worker in slot " + std::to_string(slot) + " could not put " + conf::join_key(e.kind, e.id) + " in force: " + e.message);
  };
  bus_ = std::make_unique<BusServer>(io_, start_.bus_fd, std::move(options), std::move(hooks), names_.get());
  sink_ = std::make_unique<BusSink>(*bus_);
  bus_->load(revision, everything);
  bus_->start();
}

void AdminProcess::listen(worker::ListenSocket::Role role, http::Handler handler) {
  for (const worker::ListenSocket& socket : start_.listeners) {
    if (socket.role != role) continue;
    http::ServerOptions options;
    options.server_header = server_header(node_);
    servers_.push_back(std::make_unique<http::Server>(io_, socket.fd, std::move(options), handler));
    servers_.back()->start();
  }
}

void AdminProcess::open_listeners() {
  using Role = worker::ListenSocket::Role;
  const Image& image = configuration_ ? configuration_->image() : file_image_;
  if (configuration_) {
    Api::Services services{*configuration_, *checker_, wall_ms, [this] { return reload_plugins(); }, node_.stream_plugins};
    api_ = std::make_unique<Api>(api_options(start_), std::move(services));
    listen(Role::admin, [this](const auto& request, http::Respond respond) { api_->handle(request, respond); });
  }
  control_ = std::make_unique<Control>(ControlServices{image, checker_->enabled(), configuration_ ? node_.etcd.prefix : "",
                                                       [this] { return reload_plugins(); }});
  listen(Role::control, [this](const auto& request, http::Respond respond) { control_->handle(request, respond); });
  status_ = std::make_unique<Status>(start_.catalog->workers(), start_.generation, start_.workers);
  listen(Role::status, [this](const auto& request, http::Respond respond) { status_->handle(request, respond); });
  exposition_ = std::make_unique<sdk::Exposition>(*start_.catalog, find(node_.plugin_attr.get(), "prometheus"));
  MetricsOptions metrics{node_.prometheus.export_uri, [this] { return exposition_->render(monotonic_now()); },
                         [this] { return checker_->enabled().find("prometheus") != nullptr; }};
  metrics_ = std::make_unique<Metrics>(std::move(metrics), start_.catalog->workers());
  listen(Role::metrics, [this](const auto& request, http::Respond respond) { metrics_->handle(request, respond); });
}

Result<void> AdminProcess::reload_plugins() {
  std::vector<std::string> names = node_.plugins;
  if (!start_.config_file.empty()) {
    auto node = conf::load_node_config(start_.config_file, conf::process_environment());
    if (!node) return node.error();
    names = std::move(node->plugins);
  }
  checker_->enable(sdk::EnabledPlugins(names));
  std::string json = "[";
  for (const std::string& name : names) json += (json.size() > 1 ? "," : "") + json_string(name);
  sink_->plugins_changed(json + "]");
  return {};
}

void AdminProcess::heartbeat() {
  shm::WorkerStatus& own = start_.catalog->workers().status(start_.slot);
  own.heartbeat_ns.store(to_ns(monotonic_now()), std::memory_order_relaxed);
  beat_.expires_after(milliseconds(250));
  beat_.async_wait([this](boost::system::error_code ec) {
    if (!ec) heartbeat();
  });
}

void AdminProcess::every_second() {
  if (configuration_) configuration_->expire(wall_ms());
  if (file_ && file_->poll()) bus_->replace(file_->revision(), file_->everything());
  for (const std::string& warning : full_.look(start_.catalog->all_stats(), monotonic_now())) log::warn(warning);
  tick_.expires_after(seconds(1));
  tick_.async_wait([this](boost::system::error_code ec) {
    if (!ec) every_second();
  });
}

bool AdminProcess::quiet() const {
  for (const auto& server : servers_)
    if (server->busy() != 0) return false;
  return !configuration_ || configuration_->pending() == 0;
}

// What is under way is answered; what has not been accepted waits in the listener for the next admin process.
void AdminProcess::drain() {
  if (quiet() || monotonic_now() >= drain_until_) return io_.stop();
  tick_.expires_after(milliseconds(10));
  tick_.async_wait([this](boost::system::error_code ec) {
    if (!ec) drain();
  });
}

void AdminProcess::on_signal(int number) {
  if (number == SIGUSR1) {
    if (!log::reopen()) log::error("cannot reopen the error log");
  } else if (number == SIGTERM) {
    return io_.stop();
  } else if (drain_until_ == TimePoint{}) {
    drain_until_ = monotonic_now() + kDrainLimit;
    if (api_) api_->stop_writes();
    for (const auto& server : servers_) {
      server->stop_accepting();
      server->close_all();
    }
    drain();
  }
  signals_.async_wait([this](boost::system::error_code ec, int n) {
    if (!ec) on_signal(n);
  });
}

int AdminProcess::run() {
  if (const std::string why = unsupported(node_); !why.empty()) {
    log::crit(why);
    return 1;
  }
  for (int number : {SIGTERM, SIGQUIT, SIGUSR1}) signals_.add(number);
  signals_.async_wait([this](boost::system::error_code ec, int n) {
    if (!ec) on_signal(n);
  });
  if (auto opened = open_configuration(); !opened) {
    log::crit("the configuration cannot be opened: " + opened.error().message());
    return 1;
  }
  // The store's thread was made with the stop signals still blocked: they come to this thread alone.
  sigset_t mine;
  sigemptyset(&mine);
  for (int number : {SIGTERM, SIGQUIT, SIGUSR1}) sigaddset(&mine, number);
  pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);
  open_listeners();
  heartbeat();
  every_second();
  start_.catalog->workers().status(start_.slot).ready.store(1, std::memory_order_release);
  io_.run();
  for (const auto& server : servers_) server->stop_accepting();
  bus_->stop();
  if (store_) store_->close();
  return 0;
}

}  // namespace

int run_admin(const AdminStart& start) noexcept {
  try {
    return AdminProcess(start).run();
  } catch (const std::exception& e) {
    log::crit(std::string("the admin process ends: ") + e.what());
    return 2;
  }
}

}  // namespace sluice::admin
