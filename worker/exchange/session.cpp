#include "worker/exchange/session.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "conf/base/log.hpp"
#include "shm/worker_table.hpp"
#include "worker/exchange/exchange.hpp"

namespace sluice::worker {

namespace {

constexpr std::uint32_t kBurst = 32;           // pipelined requests served in a row before others get a turn
constexpr std::size_t kLingerOctets = 1u << 20;  // of what nobody reads, before the connection is cut

Refusal refusal_of(HeadFault fault) noexcept {
  switch (fault) {
    case HeadFault::bad_target: return Refusal::bad_target;
    case HeadFault::bad_host: return Refusal::bad_host;
    case HeadFault::bad_length:
    case HeadFault::bad_encoding:
    case HeadFault::unknown_coding: return Refusal::bad_framing;
    case HeadFault::line_too_long:
    case HeadFault::head_too_large: return Refusal::head_too_large;
    case HeadFault::bad_version: return Refusal::bad_version;
    case HeadFault::tunnel: return Refusal::bad_method;
    default: return Refusal::bad_head;
  }
}

std::uint8_t write_address(const IpAddress& a, char (&out)[48]) noexcept {
  const bool ok = a.is_v4() ? ::inet_ntop(AF_INET, a.bytes.data() + 12, out, sizeof out) != nullptr
                            : ::inet_ntop(AF_INET6, a.bytes.data(), out, sizeof out) != nullptr;
  return ok ? static_cast<std::uint8_t>(std::strlen(out)) : std::uint8_t{0};
}

IpAddress address_of(const sockaddr_storage& s, std::uint16_t& port) noexcept {
  IpAddress a;
  if (s.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(s);
    std::uint8_t octets[4];
    std::memcpy(octets, &v4.sin_addr, 4);
    a = IpAddress::from_v4(octets);
    port = ntohs(v4.sin_port);
  } else if (s.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(s);
    std::memcpy(a.bytes.data(), &v6.sin6_addr, 16);
    port = ntohs(v6.sin6_port);
  }
  return a;
}

}  // namespace

void Session::start(WorkerContext& worker, int fd, std::uint16_t listener_port, bool expect_proxy_protocol) noexcept {
  auto* session = new Session(worker);
  if (!worker.reactor.add(session->client, fd, kWrite)) {
    ::close(fd);
    delete session;
    return;
  }
  session->client.owner = &session->fiber;
  session->server_port = listener_port;
  session->expect_proxy_protocol_ = expect_proxy_protocol;
  session->id = worker.next_connection_id++;
  session->opened = worker.reactor.now();
  session->learn_addresses(fd);
  session->hang_in();
  if (worker.status != nullptr) {
    shm::WorkerStatus::bump(worker.status->accepted);
    shm::WorkerStatus::bump(worker.status->handled);
    shm::WorkerStatus::bump(worker.status->active);
  }
  session->run();
}

void Session::hang_in() noexcept {
  next_ = worker.sessions;
  if (next_ != nullptr) next_->previous_ = this;
  worker.sessions = this;
  ++worker.session_count;
}

void Session::hang_out() noexcept {
  (previous_ != nullptr ? previous_->next_ : worker.sessions) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  --worker.session_count;
}

void Session::set_peer(const IpAddress& address, std::uint16_t port) noexcept {
  peer = address;
  peer_port = port;
  peer_text_size_ = write_address(address, peer_text_);
}

void Session::learn_addresses(int fd) noexcept {
  sockaddr_storage s{};
  socklen_t length = sizeof s;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&s), &length) == 0 && s.ss_family != AF_UNIX) {
    std::uint16_t port = 0;
    const IpAddress a = address_of(s, port);
    set_peer(a, port);
  } else {
    local_socket = true;
    std::memcpy(peer_text_, "unix:", 5);
    peer_text_size_ = 5;
  }
  length = sizeof s;
  if (!local_socket && ::getsockname(fd, reinterpret_cast<sockaddr*>(&s), &length) == 0) {
    const IpAddress a = address_of(s, server_port);
    server_text_size_ = write_address(a, server_text_);
  }
}

void Session::unread(std::string_view octets) noexcept {
  if (!carry_) carry_ = Buffer(std::max(octets.size(), Buffer::kMedium));
  std::memcpy(carry_.data(), octets.data(), octets.size());
  carry_size_ = static_cast<std::uint32_t>(octets.size());
}

void Session::drain() noexcept {
  if (idle_) fiber.cancel();
}

// Space behind what is buffered: the front is closed up first, then the next larger block is taken.
bool Session::make_room() noexcept {
  if (!in_) {
    in_ = Buffer(Buffer::kSmall);
    begin_ = end_ = 0;
    return true;
  }
  if (begin_ != 0) {
    std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ < in_.size()) return true;
  if (in_.size() >= Buffer::kHuge) return false;
  Buffer larger(in_.size() == Buffer::kSmall ? Buffer::kLarge : Buffer::kHuge);
  std::memcpy(larger.data(), in_.data(), end_);
  in_ = std::move(larger);
  return true;
}

// Until octets are there that were not looked at yet. False: the connection ends without a request.
Task<bool> Session::read_head() noexcept {
  while (true) {
    if (!client.readable()) {
      const Why why = co_await fiber.readable(client);
      burst_ = 0;
      if (why != Why::io) co_return false;
    }
    if (!make_room()) co_return false;
    const IoResult r = client.try_read(in_.data() + end_, in_.size() - end_);
    if (r.failed() || r.eof) co_return false;
    end_ += static_cast<std::uint32_t>(r.n);
    if (r.n != 0) co_return true;
  }
}

// The octets of a connection that nobody reads any more: taken in for a while, so that the answer is not lost to a reset.
Task<void> Session::linger() noexcept {
  client.shutdown_write();
  Buffer sink(Buffer::kMedium);
  std::size_t octets = 0;
  fiber.set_deadline(worker.reactor.now() + seconds(5));
  while (octets < kLingerOctets * 16) {
    if (!client.readable()) {
      const Why why = co_await fiber.readable(client);
      if (why != Why::io) co_return;
    }
    const IoResult r = client.try_read(sink.data(), sink.size());
    if (r.failed() || r.eof) co_return;
    octets += r.n;
    if (octets > kLingerOctets && octets % (kLingerOctets / 4) < Buffer::kMedium) co_await fiber.yield();
  }
}

// "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" (version 1) before anything else.
Task<bool> Session::read_proxy_protocol() noexcept {
  fiber.set_deadline(worker.reactor.now() + worker.settings.header_timeout);
  while (true) {
    const std::string_view seen = buffered();
    const std::size_t end = seen.find("\r\n");
    if (end == std::string_view::npos) {
      if (seen.size() > 107 || (seen.size() >= 6 && seen.substr(0, 6) != "PROXY ")) co_return false;
      const bool more = co_await read_head();
      if (!more) co_return false;
      continue;
    }
    std::string_view words[6];
    std::size_t count = 0;
    for (std::string_view rest = seen.substr(0, end); !rest.empty() && count < 6;) {
      const std::size_t blank = rest.find(' ');
      words[count++] = rest.substr(0, blank);
      rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
    }
    if (words[0] != "PROXY") co_return false;
    if (words[1] != "UNKNOWN") {
      const auto address = count == 6 ? parse_ip(words[2]) : std::nullopt;
      std::uint16_t port = 0;
      const auto parsed = std::from_chars(words[4].data(), words[4].data() + words[4].size(), port);
      if (!address || parsed.ec != std::errc()) co_return false;
      set_peer(*address, port);
      local_socket = false;
    }
    consume(end + 2);
    co_return true;
  }
}

Root Session::run() noexcept {
  Reactor& reactor = worker.reactor;
  bool open = true;
  if (expect_proxy_protocol_) open = co_await read_proxy_protocol();
  fiber.set_deadline(reactor.now() + worker.settings.header_timeout);
  while (open) {
    if (carry_) {
      in_ = std::move(carry_);
      carry_.reset();
      begin_ = 0;
      end_ = std::exchange(carry_size_, 0);
    }
    if (begin_ == end_ || scanned_ != 0) {
      if (begin_ == end_) in_.reset();
      if (!client.readable()) {
        idle_ = begin_ == end_;
        worker.idle_count += idle_ ? 1 : 0;
        const Why why = co_await fiber.readable(client);
        worker.idle_count -= idle_ ? 1 : 0;
        idle_ = false;
        burst_ = 0;
        if (why == Why::deadline && begin_ != end_) {
          worker.count(Refusal::header_timeout);
          auto* late = new Exchange(*this);
          co_await late->refuse(408, "head not complete in time");
          delete late;
          linger_ = true;
        }
        if (why != Why::io) break;
      }
      const bool fresh = begin_ == end_;
      if (!make_room()) break;
      const IoResult r = client.try_read(in_.data() + end_, in_.size() - end_);
      if (r.failed() || r.eof) break;
      if (r.n == 0) continue;
      end_ += static_cast<std::uint32_t>(r.n);
      if (fresh) fiber.set_deadline(reactor.now() + worker.settings.header_timeout);
    }
    auto* exchange = new Exchange(*this);
    const HeadFault fault = exchange->read_head(scanned_);
    if (fault == HeadFault::need_more) {
      scanned_ = end_ - begin_;
      delete exchange;
      continue;
    }
    scanned_ = 0;
    ++requests;
    if (fault != HeadFault::none) {
      worker.count(refusal_of(fault));
      co_await exchange->refuse(status_of(fault), text_of(fault));
      linger_ = true;
      delete exchange;
      break;
    }
    co_await exchange->serve();
    open = exchange->keep_open() && !fiber.cancelled();
    linger_ = exchange->lingers();
    reset_ = exchange->reset_client();
    delete exchange;
    if (!open) break;
    fiber.set_deadline(reactor.now() + worker.settings.keepalive_timeout);
    if (++burst_ >= kBurst) {
      burst_ = 0;
      co_await fiber.yield();
    }
  }
  if (linger_ && !client.failed() && !client.hangup() && !fiber.cancelled()) co_await linger();
  finish();
}

void Session::finish() noexcept {
  if (reset_)
    worker.reactor.close_with_reset(client);
  else
    worker.reactor.close(client);
  in_.reset();
  carry_.reset();
  hang_out();
  if (worker.status != nullptr) shm::WorkerStatus::drop(worker.status->active);
  worker.reactor.retire(*this);
}

}  // namespace sluice::worker
