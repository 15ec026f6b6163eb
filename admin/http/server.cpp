#include "admin/http/server.hpp"

#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <set>

#include "conf/base/log.hpp"
#include "conf/base/text.hpp"

namespace sluice::admin::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;

namespace {
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::uint64_t kMaxDropped = 64u << 20;  // octets of a refused body that are read before the line is cut

bool is_protocol_error(const boost::system::error_code& ec) {
  return ec.category() == bhttp::make_error_code(bhttp::error::bad_target).category() &&
         ec != bhttp::error::end_of_stream && ec != bhttp::error::partial_message;
}

IpAddress address_of(const tcp::socket& socket) {
  boost::system::error_code ec;
  const auto endpoint = socket.remote_endpoint(ec);
  IpAddress out;
  if (ec) return out;
  if (endpoint.address().is_v4()) {
    const auto b = endpoint.address().to_v4().to_bytes();
    const std::uint8_t octets[4] = {b[0], b[1], b[2], b[3]};
    return IpAddress::from_v4(octets);
  }
  out.bytes = endpoint.address().to_v6().to_bytes();
  return out;
}

Request request_of(bhttp::request<bhttp::string_body>& message, const IpAddress& peer) {
  Request r;
  r.method = std::string(message.method_string());
  r.target = std::string(message.target());
  const auto mark = r.target.find('?');
  r.path = r.target.substr(0, mark);
  if (mark != std::string::npos) r.query = r.target.substr(mark + 1);
  for (const auto& field : message)
    r.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  r.body = std::move(message.body());
  r.peer = peer;
  return r;
}
}  // namespace

struct Server::Impl : std::enable_shared_from_this<Server::Impl> {
  Impl(asio::io_context& io, ServerOptions o, Handler h)
      : io(io), acceptor(io), options(std::move(o)), handler(std::move(h)) {}

  struct Session {
    explicit Session(tcp::socket s) : stream(std::move(s)) {}
    beast::tcp_stream stream;
    bool busy = false;
  };

  asio::awaitable<void> accept_loop();
  asio::awaitable<void> serve(std::shared_ptr<Session> session);
  asio::awaitable<bool> one_request(Session& s, beast::flat_buffer& buffer, const IpAddress& peer);
  asio::awaitable<bool> answer(Session& s, Response response, unsigned version, bool keep, bool head_only);
  asio::awaitable<void> drop_rest(Session& s, beast::flat_buffer& buffer);
  asio::awaitable<Response> ask(std::shared_ptr<const Request> request);

  asio::io_context& io;
  tcp::acceptor acceptor;
  ServerOptions options;
  Handler handler;
  std::set<std::shared_ptr<Session>> sessions;
  std::size_t busy = 0;
  bool stopping = false;
};

asio::awaitable<void> Server::Impl::accept_loop() {
  auto self = shared_from_this();
  while (acceptor.is_open()) {
    auto [ec, socket] = co_await acceptor.async_accept(kAwait);
    if (ec == asio::error::operation_aborted || !acceptor.is_open()) co_return;
    if (ec) {
      // Out of descriptors: what is queued stays queued; try again a little later.
      asio::steady_timer wait(io, std::chrono::milliseconds(100));
      co_await wait.async_wait(kAwait);
      continue;
    }
    if (sessions.size() >= options.max_connections) continue;
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    auto session = std::make_shared<Session>(std::move(socket));
    sessions.insert(session);
    asio::co_spawn(
        io, [self, session]() { return self->serve(session); },
        [self, session](std::exception_ptr) { self->sessions.erase(session); });
  }
}

asio::awaitable<void> Server::Impl::serve(std::shared_ptr<Session> session) {
  beast::flat_buffer buffer;
  const IpAddress peer = address_of(session->stream.socket());
  while (co_await one_request(*session, buffer, peer)) {
  }
  boost::system::error_code ignored;
  session->stream.socket().shutdown(tcp::socket::shutdown_both, ignored);
  session->stream.close();
}

// The handler answers when it likes; the coroutine waits on a timer that never expires by itself.
asio::awaitable<Response> Server::Impl::ask(std::shared_ptr<const Request> request) {
  struct Waiting {
    explicit Waiting(asio::io_context& io) : timer(io, asio::steady_timer::time_point::max()) {}
    asio::steady_timer timer;
    std::optional<Response> response;
  };
  auto waiting = std::make_shared<Waiting>(io);
  handler(request, [waiting](Response r) {
    if (waiting->response) return;
    waiting->response = std::move(r);
    waiting->timer.cancel();
  });
  if (!waiting->response) co_await waiting->timer.async_wait(kAwait);
  if (!waiting->response) co_return error_page(503);
  co_return std::move(*waiting->response);
}

asio::awaitable<bool> Server::Impl::one_request(Session& s, beast::flat_buffer& buffer, const IpAddress& peer) {
  bhttp::request_parser<bhttp::string_body> parser;
  parser.header_limit(options.max_head);
  parser.body_limit(boost::none);
  s.stream.expires_after(options.idle_timeout);
  {
    auto [ec, n] = co_await bhttp::async_read_header(s.stream, buffer, parser, kAwait);
    if (ec && !is_protocol_error(ec)) co_return false;
    if (ec) {
      co_await answer(s, error_page(ec == bhttp::error::header_limit ? 431 : 400), 11, false, false);
      co_return false;
    }
  }
  const bool head_only = parser.get().method() == bhttp::verb::head;
  const unsigned version = parser.get().version();
  bool keep = parser.get().keep_alive() && !stopping;
  std::uint64_t oversize = 0;
  if (parser.content_length() && *parser.content_length() > options.max_body) oversize = *parser.content_length();
  if (!oversize && !parser.is_done()) {
    if (text::iequal(std::string_view(parser.get()[bhttp::field::expect]), "100-continue")) {
      bhttp::response<bhttp::empty_body> go(bhttp::status::continue_, version);
      auto [ec, n] = co_await bhttp::async_write(s.stream, go, kAwait);
      if (ec) co_return false;
    }
    parser.body_limit(options.max_body);
    s.stream.expires_after(options.body_timeout);
    auto [ec, n] = co_await bhttp::async_read(s.stream, buffer, parser, kAwait);
    if (ec == bhttp::error::body_limit) {
      oversize = options.max_body + 1;
    } else if (ec && is_protocol_error(ec)) {
      co_await answer(s, error_page(400), version, false, false);
      co_return false;
    } else if (ec) {
      co_return false;
    }
  }
  auto request = std::make_shared<Request>(request_of(parser.get(), peer));
  if (oversize) {
    request->oversize = oversize;
    request->body.clear();
    keep = false;
  }
  s.stream.expires_never();
  s.busy = true;
  ++busy;
  Response response = co_await ask(request);
  if (stopping) keep = false;
  const bool written = co_await answer(s, std::move(response), version, keep, head_only);
  --busy;
  s.busy = false;
  if (written && oversize) co_await drop_rest(s, buffer);
  co_return written&& keep;
}

asio::awaitable<bool> Server::Impl::answer(Session& s, Response response, unsigned version, bool keep, bool head_only) {
  bhttp::response<bhttp::string_body> message;
  message.version(version);
  message.result(response.status);
  message.reason(std::string(reason_of(response.status)));
  if (!options.server_header.empty()) message.set(bhttp::field::server, options.server_header);
  if (!response.content_type.empty()) message.set(bhttp::field::content_type, response.content_type);
  for (auto& [name, value] : response.headers) message.insert(name, value);
  keep = keep && !response.close;
  message.keep_alive(keep);
  const std::size_t size = response.body.size();
  if (!head_only) message.body() = std::move(response.body);
  if (response.status != 204) message.content_length(size);
  bhttp::response_serializer<bhttp::string_body> serializer(message);
  s.stream.expires_after(options.body_timeout);
  if (head_only) {
    auto [ec, n] = co_await bhttp::async_write_header(s.stream, serializer, kAwait);
    co_return !ec;
  }
  auto [ec, n] = co_await bhttp::async_write(s.stream, serializer, kAwait);
  co_return !ec;
}

asio::awaitable<void> Server::Impl::drop_rest(Session& s, beast::flat_buffer& buffer) {
  buffer.clear();
  boost::system::error_code ignored;
  s.stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  std::uint64_t dropped = 0;
  char sink[16384];
  while (dropped < kMaxDropped) {
    s.stream.expires_after(std::chrono::seconds(2));
    auto [ec, n] = co_await s.stream.async_read_some(asio::buffer(sink), kAwait);
    if (ec) co_return;
    dropped += n;
  }
}

Server::Server(asio::io_context& io, int fd, ServerOptions options, Handler handler)
    : impl_(std::make_shared<Impl>(io, std::move(options), std::move(handler))) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  const bool v6 =
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 && address.ss_family == AF_INET6;
  const int own = ::dup(fd);
  boost::system::error_code ec;
  impl_->acceptor.assign(v6 ? tcp::v6() : tcp::v4(), own, ec);
  if (ec) {
    log::error("cannot use a listening socket of the admin process: " + ec.message());
    if (own >= 0) ::close(own);
  }
}

Server::~Server() {
  stop_accepting();
  close_all();
}

void Server::start() {
  if (!impl_->acceptor.is_open()) return;
  asio::co_spawn(
      impl_->io, [impl = impl_]() { return impl->accept_loop(); }, asio::detached);
}

void Server::stop_accepting() {
  boost::system::error_code ignored;
  impl_->stopping = true;
  impl_->acceptor.close(ignored);
}

void Server::close_all() {
  for (const auto& session : impl_->sessions)
    if (!session->busy) session->stream.cancel();
}

std::size_t Server::busy() const noexcept { return impl_->busy; }

unsigned short Server::port() const noexcept {
  boost::system::error_code ec;
  const auto endpoint = impl_->acceptor.local_endpoint(ec);
  return ec ? 0 : endpoint.port();
}

}  // namespace sluice::admin::http
