// See cares_channel.hpp.
#include "admin/dns/cares_channel.hpp"

#include <ares.h>
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <map>
#include <utility>

namespace sluice::admin {

namespace asio = boost::asio;

namespace {
constexpr int kMaxRecords = 64;
constexpr int kTries = 3;

// First wait of a try; c-ares doubles it with every round over the servers. A lost packet costs a second at most.
int first_wait_ms(nanoseconds whole) noexcept {
  const auto ms = std::chrono::duration_cast<milliseconds>(whole).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms / 3, 50, 1000));
}

bool library_ready() {
  static const int status = ares_library_init(ARES_LIB_INIT_ALL);
  return status == ARES_SUCCESS;
}
}  // namespace

struct CaresChannel::Impl : std::enable_shared_from_this<CaresChannel::Impl> {
  explicit Impl(asio::io_context& io) : io(io), timer(io) {}

  // A socket of c-ares, watched. It is released, never closed, by Asio.
  struct Watch {
    explicit Watch(asio::io_context& io, int fd) : descriptor(io, fd) {}
    asio::posix::stream_descriptor descriptor;
    bool want_read = false, want_write = false;
    bool reading = false, writing = false;
  };

  void on_socket_state(int fd, bool readable, bool writable) {
    auto it = watches.find(fd);
    if (!readable && !writable) {
      if (it == watches.end()) return;
      it->second->want_read = it->second->want_write = false;
      it->second->descriptor.release();  // pending waits end as cancelled
      watches.erase(it);
      return;
    }
    if (it == watches.end()) it = watches.emplace(fd, std::make_shared<Watch>(io, fd)).first;
    it->second->want_read = readable;
    it->second->want_write = writable;
    arm(it->second, fd);
  }

  void arm(const std::shared_ptr<Watch>& watch, int fd) {
    using Wait = asio::posix::descriptor_base;
    if (watch->want_read && !std::exchange(watch->reading, true))
      watch->descriptor.async_wait(Wait::wait_read, [self = shared_from_this(), watch, fd](auto error) {
        watch->reading = false;
        if (!error && watch->want_read) self->process(watch, fd, fd, ARES_SOCKET_BAD);
      });
    if (watch->want_write && !std::exchange(watch->writing, true))
      watch->descriptor.async_wait(Wait::wait_write, [self = shared_from_this(), watch, fd](auto error) {
        watch->writing = false;
        if (!error && watch->want_write) self->process(watch, fd, ARES_SOCKET_BAD, fd);
      });
  }

  void process(const std::shared_ptr<Watch>& watch, int fd, ares_socket_t read, ares_socket_t write) {
    if (!channel) return;
    ares_process_fd(channel, read, write);
    if (!channel) return;
    if (const auto it = watches.find(fd); it != watches.end() && it->second == watch) arm(watch, fd);
    arm_timer();
  }

  void arm_timer() {
    timeval most{1, 0}, next{};
    if (!channel || !ares_timeout(channel, &most, &next) || in_flight == 0) {
      timer.cancel();
      return;
    }
    timer.expires_after(seconds(next.tv_sec) + std::chrono::microseconds(next.tv_usec) + milliseconds(1));
    timer.async_wait([self = shared_from_this()](auto error) {
      if (error || !self->channel) return;
      ares_process_fd(self->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      self->arm_timer();
    });
  }

  struct Query {
    std::shared_ptr<Impl> owner;
    RecordType type;
    std::function<void(QueryResult)> done;
  };

  static void on_reply(void* argument, int status, int, unsigned char* octets, int size) noexcept;

  void close() {
    if (!channel) return;
    const ares_channel doomed = std::exchange(channel, nullptr);
    ares_destroy(doomed);  // ends all queries
    for (const auto& [fd, watch] : watches) watch->descriptor.release();
    watches.clear();
    timer.cancel();
  }

  asio::io_context& io;
  asio::steady_timer timer;
  ares_channel channel = nullptr;
  std::map<int, std::shared_ptr<Watch>> watches;
  std::size_t in_flight = 0;
  bool search = true;
};

namespace {

QueryResult parse_a(const unsigned char* octets, int size) {
  QueryResult result;
  ares_addrttl records[kMaxRecords];
  int count = kMaxRecords;
  const int status = ares_parse_a_reply(octets, size, nullptr, records, &count);
  result.answered = status == ARES_SUCCESS || status == ARES_ENODATA;
  if (status != ARES_SUCCESS) {
    result.problem = ares_strerror(status);
    return result;
  }
  for (int i = 0; i < count; ++i) {
    std::uint8_t v4[4];
    std::memcpy(v4, &records[i].ipaddr, 4);
    result.addresses.push_back(IpAddress::from_v4(v4));
    const auto ttl = static_cast<std::uint32_t>(std::max(0, records[i].ttl));
    result.ttl_seconds = i == 0 ? ttl : std::min(result.ttl_seconds, ttl);
  }
  return result;
}

QueryResult parse_aaaa(const unsigned char* octets, int size) {
  QueryResult result;
  ares_addr6ttl records[kMaxRecords];
  int count = kMaxRecords;
  const int status = ares_parse_aaaa_reply(octets, size, nullptr, records, &count);
  result.answered = status == ARES_SUCCESS || status == ARES_ENODATA;
  if (status != ARES_SUCCESS) {
    result.problem = ares_strerror(status);
    return result;
  }
  for (int i = 0; i < count; ++i) {
    IpAddress address;
    std::memcpy(address.bytes.data(), &records[i].ip6addr, 16);
    result.addresses.push_back(address);
    const auto ttl = static_cast<std::uint32_t>(std::max(0, records[i].ttl));
    result.ttl_seconds = i == 0 ? ttl : std::min(result.ttl_seconds, ttl);
  }
  return result;
}

}  // namespace

void CaresChannel::Impl::on_reply(void* argument, int status, int, unsigned char* octets, int size) noexcept {
  std::unique_ptr<Query> query(static_cast<Query*>(argument));
  --query->owner->in_flight;
  if (status == ARES_EDESTRUCTION) return;
  QueryResult result;
  if (status == ARES_SUCCESS) {
    result = query->type == RecordType::a ? parse_a(octets, size) : parse_aaaa(octets, size);
    if (result.addresses.empty() && result.problem.empty()) result.problem = "no address of this type";
  } else {
    result.answered = status == ARES_ENODATA || status == ARES_ENOTFOUND;
    result.problem = ares_strerror(status);
  }
  // Not from inside c-ares: the caller may ask again, or end the channel.
  asio::post(query->owner->io, [owner = query->owner, done = std::move(query->done), result = std::move(result)] {
    if (owner->channel) done(result);
  });
}

Result<std::unique_ptr<CaresChannel>> CaresChannel::create(asio::io_context& io, const Options& options) {
  if (!library_ready()) return Error{Errc::internal, {}, "the DNS library does not start", "dns", false};
  auto impl = std::make_shared<Impl>(io);
  impl->search = options.search;
  ares_options settings{};
  settings.timeout = first_wait_ms(options.timeout);
  settings.tries = kTries;
  char lookups[] = "b";  // DNS alone: the hosts file is read by the resolver
  settings.lookups = lookups;
  settings.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
    static_cast<Impl*>(self)->on_socket_state(fd, readable != 0, writable != 0);
  };
  settings.sock_state_cb_data = impl.get();
  const int mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;
  if (const int status = ares_init_options(&impl->channel, &settings, mask); status != ARES_SUCCESS) {
    impl->channel = nullptr;
    return Error{Errc::internal, {}, std::string("DNS: ") + ares_strerror(status), "dns", true};
  }
  std::string servers;
  for (const std::string& server : options.servers) {
    const bool bare_v6 = is_ipv6_text(server);
    servers += (servers.empty() ? "" : ",") + (bare_v6 ? "[" + server + "]" : server);
  }
  std::unique_ptr<CaresChannel> channel(new CaresChannel(std::move(impl)));
  if (!servers.empty() && ares_set_servers_ports_csv(channel->impl_->channel, servers.c_str()) != ARES_SUCCESS)
    return invalid("invalid DNS server address in " + servers, "apisix.dns_resolver");
  return channel;
}

CaresChannel::~CaresChannel() { impl_->close(); }

void CaresChannel::query(const std::string& name, RecordType type, std::function<void(QueryResult)> done) {
  auto query = std::make_unique<Impl::Query>(Impl::Query{impl_, type, std::move(done)});
  ++impl_->in_flight;
  const int wire_type = type == RecordType::a ? ns_t_a : ns_t_aaaa;
  const auto begin = impl_->search ? &ares_search : &ares_query;
  begin(impl_->channel, name.c_str(), ns_c_in, wire_type, &Impl::on_reply, query.release());
  impl_->arm_timer();
}

}  // namespace sluice::admin
