#include "worker/process/acceptor.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "conf/base/log.hpp"
#include "shm/worker_table.hpp"
#include "worker/exchange/session.hpp"

namespace sluice::worker {

namespace {

constexpr int kBatchAlone = 64;
constexpr int kBatchShared = 8;
constexpr unsigned kTicksDeclined = 1;      // of 2 ms
constexpr unsigned kTicksShort = 25;        // no descriptors, no room
constexpr unsigned kMaxDeclined = 4;        // then it is taken after all
constexpr std::int64_t kAliveNs = 1'500'000'000;

int descriptor_mark() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 1u << 30) return 1 << 30;
  const auto all = static_cast<int>(limit.rlim_cur);
  return all - std::max(16, all / 8);
}

}  // namespace

Acceptor::Acceptor(WorkerContext& worker, const ListenSocket& socket, std::size_t max_connections,
                   int own_slot) noexcept
    : worker_(worker), fd_(socket.fd), proxy_protocol_(socket.proxy_protocol), max_connections_(max_connections),
      short_from_(descriptor_mark()), own_slot_(own_slot) {
  io_.owner = this;
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // handed down to what is accepted; fails on Unix sockets
  sockaddr_storage s{};
  socklen_t length = sizeof s;
  if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&s), &length) == 0) {
    if (s.ss_family == AF_INET) port_ = ntohs(reinterpret_cast<sockaddr_in&>(s).sin_port);
    if (s.ss_family == AF_INET6) port_ = ntohs(reinterpret_cast<sockaddr_in6&>(s).sin6_port);
  }
}

bool Acceptor::watch() noexcept {
  paused_ = false;
  return fd_ >= 0 && worker_.reactor.add_listener(io_, fd_);
}

void Acceptor::pause(unsigned ticks) noexcept {
  worker_.reactor.release(io_);
  paused_ = true;
  ticks_left_ = ticks;
  if (on_pause != nullptr) on_pause(on_pause_argument);
}

void Acceptor::tick() noexcept {
  if (!paused_ || (ticks_left_ > 0 && --ticks_left_ > 0)) return;
  watch();
}

void Acceptor::stop() noexcept {
  if (fd_ < 0) return;
  worker_.reactor.release(io_);
  ::close(fd_);
  fd_ = -1;
  paused_ = false;
}

// More than an eighth above the least loaded worker that accepts and is awake.
bool Acceptor::leave_to_others() const noexcept {
  if (worker_.workers == nullptr || own_slot_ < 0 || worker_.session_count < 8) return false;
  std::uint64_t least = ~std::uint64_t{0};
  const std::int64_t now = to_ns(worker_.reactor.now());
  worker_.workers->for_each([&](std::uint32_t slot, const shm::WorkerStatus& s) {
    if (static_cast<int>(slot) == own_slot_ || s.role.load(std::memory_order_relaxed) != 1 /* worker */) return;
    if (s.ready.load(std::memory_order_relaxed) == 0 || s.draining.load(std::memory_order_relaxed) != 0) return;
    if (now - s.heartbeat_ns.load(std::memory_order_relaxed) > kAliveNs) return;
    least = std::min(least, s.active.load(std::memory_order_relaxed));
  });
  return least != ~std::uint64_t{0} && worker_.session_count > least + std::max<std::uint64_t>(4, least / 8);
}

// A new descriptor is the lowest free number, so one number tells how many are left.
bool Acceptor::descriptors_short() noexcept {
  if (!short_seen_) return false;
  const int probe = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (probe >= 0) ::close(probe);
  short_seen_ = probe < 0 || probe >= short_from_;
  return short_seen_;
}

void Acceptor::on_io(Io&) noexcept {
  const int batch = worker_.workers != nullptr && own_slot_ >= 0 ? kBatchShared : kBatchAlone;
  for (int i = 0; i < batch; ++i) {
    if (worker_.session_count >= max_connections_) {
      log::warn("the connection limit of this worker is reached; new connections wait");
      pause(kTicksShort);
      return;
    }
    if (descriptors_short()) {
      log::crit("descriptors run short; new connections wait");
      pause(kTicksShort);
      return;
    }
    if (leave_to_others() && declined_ < kMaxDeclined) {
      ++declined_;
      pause(kTicksDeclined);
      return;
    }
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        log::crit("no descriptors or memory for new connections; they wait");
        pause(kTicksShort);
      }
      return;
    }
    declined_ = 0;
    short_seen_ = fd >= short_from_;
    Session::start(worker_, fd, port_, proxy_protocol_);
  }
}

}  // namespace sluice::worker
