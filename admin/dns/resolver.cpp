// See resolver.hpp.
#include "admin/dns/resolver.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <set>
#include <utility>

#include "admin/dns/cares_channel.hpp"
#include "admin/dns/hosts_file.hpp"
#include "conf/base/log.hpp"
#include "conf/base/text.hpp"
#include "conf/node_config.hpp"

namespace sluice::admin {

namespace asio = boost::asio;

namespace {

constexpr unsigned kMaxInFlight = 8;                      // questions per name
constexpr nanoseconds kRetryPerFailing = milliseconds(2);  // a thousand dead names make no storm
constexpr std::uint32_t kMaxTtl = 24 * 3600;

bool is_localhost(std::string_view name) noexcept { return name == "localhost" || name.ends_with(".localhost"); }

std::int64_t file_stamp(const std::string& path) noexcept {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return 0;
  return s.st_mtim.tv_sec * 1'000'000'000 + s.st_mtim.tv_nsec + static_cast<std::int64_t>(s.st_ino);
}

}  // namespace

struct Resolver::Impl : std::enable_shared_from_this<Resolver::Impl> {
  Impl(asio::io_context& io, ResolverOptions o)
      : io(io), options(std::move(o)), hosts(options.hosts_file), due_timer(io), watch_timer(io) {
    hosts.refresh();
    resolv_stamp = file_stamp(options.resolv_conf);
  }

  struct Entry {
    std::uint64_t id = 0;              // an entry made again is another one
    NameAnswer answer;
    bool settled = false;
    bool failing = false;
    RecordType first_type = RecordType::a;
    TimePoint wanted_at{};
    TimePoint due{};
    unsigned in_flight = 0;
    std::uint64_t last_ticket = 0;     // of the newest question
    std::uint64_t taken_ticket = 0;    // of the newest answer: older ones come too late
  };

  Result<void> open_channel() {
    auto made = CaresChannel::create(io, {options.servers, options.search, options.timeout});
    if (!made) return made.error();
    channel = std::move(*made);
    return {};
  }

  // ---- what is wanted
  void want(std::string_view name) {
    const auto [it, fresh] = entries.try_emplace(std::string(name));
    if (!fresh) return;
    it->second.id = ++last_id;
    it->second.wanted_at = monotonic_now();
    look_up(it->first, it->second);
    arm();
    if (entries.size() == 1) watch();
  }

  void unwant(std::string_view name) {
    const auto it = entries.find(name);
    if (it == entries.end()) return;
    unschedule(it->first, it->second);
    if (it->second.failing) --failing;
    entries.erase(it);
  }

  // ---- schedule
  void schedule(const std::string& name, Entry& entry, TimePoint when) {
    unschedule(name, entry);
    entry.due = when;
    agenda.emplace(when, name);
  }
  void unschedule(const std::string& name, Entry& entry) {
    if (entry.due != TimePoint{}) agenda.erase({entry.due, name});
    entry.due = {};
  }

  void arm() {
    if (agenda.empty()) {
      due_timer.cancel();
      return;
    }
    due_timer.expires_at(agenda.begin()->first);
    due_timer.async_wait([self = shared_from_this()](auto error) {
      if (!error && !self->stopped) self->run_due();
    });
  }

  void run_due() {
    const TimePoint now = monotonic_now();
    while (!agenda.empty() && agenda.begin()->first <= now) {
      const std::string name = agenda.begin()->second;
      const auto it = entries.find(name);
      agenda.erase(agenda.begin());
      if (it == entries.end()) continue;
      it->second.due = {};
      if (!it->second.settled && now - it->second.wanted_at >= options.timeout)
        fail(it->first, it->second, "no answer in time");
      if (const auto again = entries.find(name); again != entries.end()) look_up(again->first, again->second);
    }
    arm();
  }

  // Changes of the two files.
  void watch() {
    watch_timer.expires_after(options.watch);
    watch_timer.async_wait([self = shared_from_this()](auto error) {
      if (error || self->stopped || self->entries.empty()) return;
      bool again = self->hosts.refresh();
      if (self->options.servers.empty()) {
        const auto stamp = file_stamp(self->options.resolv_conf);
        if (stamp != std::exchange(self->resolv_stamp, stamp)) {
          again = true;
          if (const auto opened = self->open_channel(); !opened) log::error("dns: " + opened.error().message());
          for (auto& [name, entry] : self->entries) entry.in_flight = 0;  // the old channel answers nothing any more
        }
      }
      if (again) {
        const TimePoint now = monotonic_now();
        for (auto& [name, entry] : self->entries) self->schedule(name, entry, now);
        self->arm();
      }
      self->watch();
    });
  }

  // ---- one lookup
  void look_up(const std::string& name, Entry& entry) {
    std::vector<IpAddress> local = hosts.find(name, options.ipv6);
    if (local.empty() && is_localhost(name)) local.push_back(*parse_ip("127.0.0.1"));
    if (!local.empty()) {
      unschedule(name, entry);  // until the file changes
      entry.taken_ticket = entry.last_ticket;
      return succeed(name, entry, std::move(local), 0);
    }
    schedule(name, entry, monotonic_now() + std::max(options.retry, kRetryPerFailing * failing));
    if (entry.in_flight >= kMaxInFlight || !channel) return;
    ++entry.in_flight;
    ask(name, entry.id, ++entry.last_ticket, entry.first_type, false);
  }

  void ask(const std::string& name, std::uint64_t id, std::uint64_t ticket, RecordType type, bool second) {
    ++asked;
    channel->query(name, type, [this, name, id, ticket, type, second](QueryResult result) {
      const auto it = entries.find(name);
      if (stopped || it == entries.end() || it->second.id != id) return;
      Entry& entry = it->second;
      const RecordType other = type == RecordType::a ? RecordType::aaaa : RecordType::a;
      if (result.addresses.empty() && result.answered && !second && (options.ipv6 || other == RecordType::a))
        return ask(name, id, ticket, other, true);
      if (entry.in_flight > 0) --entry.in_flight;
      if (ticket <= entry.taken_ticket) return;
      if (result.addresses.empty()) return fail(it->first, entry, result.problem);
      entry.taken_ticket = ticket;
      entry.first_type = type;
      const auto ttl = std::clamp<std::uint32_t>(result.ttl_seconds, 1, kMaxTtl);
      schedule(it->first, entry, monotonic_now() + options.valid.value_or(seconds(ttl)));
      arm();
      succeed(it->first, entry, std::move(result.addresses), ttl);
    });
  }

  // Both tell the listener last: it may want and unwant names.
  void succeed(const std::string& name, Entry& entry, std::vector<IpAddress> addresses, std::uint32_t ttl) {
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    if (std::exchange(entry.failing, false)) {
      --failing;
      log::notice("dns: " + name + " resolves again");
    }
    entry.answer.ttl_seconds = ttl;
    const bool news = !entry.settled || entry.answer.addresses != addresses;
    entry.settled = true;
    entry.answer.addresses = std::move(addresses);
    if (news) tell(name, entry);
  }

  void fail(const std::string& name, Entry& entry, const std::string& problem) {
    if (!std::exchange(entry.failing, true)) {
      ++failing;
      log::warn("dns: " + name + ": " + problem +
                (entry.answer.addresses.empty() ? "; it has no addresses" : "; its last addresses stay in use"));
    }
    if (!std::exchange(entry.settled, true)) tell(name, entry);
  }

  void tell(const std::string& name, const Entry& entry) {
    if (!owner || !owner->on_answer) return;
    const std::string told_name = name;
    const NameAnswer told = entry.answer;
    owner->on_answer(told_name, told);
  }

  asio::io_context& io;
  ResolverOptions options;
  HostsFile hosts;
  asio::steady_timer due_timer, watch_timer;
  std::unique_ptr<CaresChannel> channel;
  Resolver* owner = nullptr;
  std::map<std::string, Entry, std::less<>> entries;
  std::set<std::pair<TimePoint, std::string>> agenda;
  std::int64_t failing = 0;
  std::int64_t resolv_stamp = 0;
  std::uint64_t last_id = 0;
  std::uint64_t asked = 0;
  bool stopped = false;
};

Result<std::unique_ptr<Resolver>> Resolver::create(asio::io_context& io, ResolverOptions options) {
  auto impl = std::make_shared<Impl>(io, std::move(options));
  if (auto opened = impl->open_channel(); !opened) return opened.error();
  std::unique_ptr<Resolver> resolver(new Resolver(impl));
  impl->owner = resolver.get();
  return resolver;
}

Resolver::~Resolver() {
  impl_->stopped = true;
  impl_->owner = nullptr;
  impl_->channel.reset();
  impl_->due_timer.cancel();
  impl_->watch_timer.cancel();
}

void Resolver::want(std::string_view name) { impl_->want(text::to_lower(name)); }
void Resolver::unwant(std::string_view name) { impl_->unwant(text::to_lower(name)); }

const NameAnswer* Resolver::answer(std::string_view name) const {
  const auto it = impl_->entries.find(text::to_lower(name));
  return it == impl_->entries.end() || !it->second.settled ? nullptr : &it->second.answer;
}

std::uint64_t Resolver::lookups() const noexcept { return impl_->asked; }

ResolverOptions resolver_options(const conf::NodeConfig& node) {
  ResolverOptions options;
  options.servers = node.apisix.dns_resolver;
  options.search = node.apisix.resolver_search;
  options.ipv6 = node.apisix.ipv6;
  options.timeout = nanoseconds(static_cast<std::int64_t>(node.apisix.resolver_timeout_s * 1e9));
  if (node.apisix.dns_resolver_valid_s) options.valid = seconds(std::max(1, *node.apisix.dns_resolver_valid_s));
  return options;
}

}  // namespace sluice::admin
