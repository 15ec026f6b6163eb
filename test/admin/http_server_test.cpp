// The HTTP server base over real sockets on port zero.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <thread>

#include "admin/http/server.hpp"

using namespace sluice::admin;

namespace {

int listen_on_any_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
  REQUIRE(::listen(fd, 16) == 0);
  return fd;
}

// A server on a thread of its own that answers with what it was asked.
class Running {
 public:
  explicit Running(std::uint64_t max_body = 1000) : fd_(listen_on_any_port()) {
    http::ServerOptions options;
    options.max_body = max_body;
    server_ = std::make_unique<http::Server>(io_, fd_, options, [](const auto& request, http::Respond respond) {
      http::Response r;
      r.content_type = "text/plain";
      r.body = request->method + " " + request->path + " " + std::to_string(request->oversize) + " " + request->body;
      respond(std::move(r));
    });
    port_ = server_->port();
    server_->start();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Running() {
    io_.stop();
    thread_.join();
    server_.reset();
    ::close(fd_);
  }
  int connect() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port_);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
    return fd;
  }
  // Sends everything and reads until the server closes.
  std::string ask(const std::string& text) const {
    const int fd = connect();
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<std::size_t>(n);
    }
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) all.append(buffer, static_cast<std::size_t>(n));
    ::close(fd);
    return all;
  }

 private:
  boost::asio::io_context io_{1};
  int fd_;
  unsigned short port_ = 0;
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("keep-alive, then close", "[admin][http]") {
  Running server;
  const std::string all = server.ask(
      "GET /a?x=1 HTTP/1.1\r\nHost: h\r\n\r\nPUT /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: "
      "2\r\n\r\nhi");
  CHECK(all.find("GET /a 0 ") != std::string::npos);
  CHECK(all.find("PUT /b 0 hi") != std::string::npos);
  CHECK(all.find("Server: sluice\r\n") != std::string::npos);
}

TEST_CASE("HEAD has a length and no body", "[admin][http]") {
  Running server;
  const std::string all = server.ask("HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  CHECK(all.ends_with("\r\n\r\n"));
  CHECK(all.find("Content-Length: 10\r\n") != std::string::npos);
}

TEST_CASE("a body over the limit is told to the handler, and its sender reads the answer", "[admin][http]") {
  Running server(1000);
  const std::string big(300000, 'x');
  const std::string all = server.ask("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n" + big);
  CHECK(all.find("PUT /a 300000 ") != std::string::npos);
  const std::string chunked = server.ask("PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n" +
                                         std::string(2048, 'y') + "\r\n0\r\n\r\n");
  CHECK(chunked.find("PUT /a 1001 ") != std::string::npos);
}

TEST_CASE("Expect is answered", "[admin][http]") {
  Running server;
  const std::string all = server.ask(
      "PUT /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi");
  CHECK(all.starts_with("HTTP/1.1 100 Continue\r\n"));
  CHECK(all.find("PUT /a 0 hi") != std::string::npos);
}

TEST_CASE("what is no HTTP gets 400 and the line is closed", "[admin][http]") {
  Running server;
  CHECK(server.ask("\x16\x03\x01 garbage\r\n\r\n").find(" 400 ") != std::string::npos);
  CHECK(server.ask("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n").find(" 400 ") != std::string::npos);
  CHECK(server.ask("GET / HTTP/1.1\r\nA: " + std::string(70000, 'a') + "\r\n\r\n").find(" 431 ") != std::string::npos);
  CHECK(server.ask("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").find(" 200 ") != std::string::npos);
}

TEST_CASE("arguments and cookies", "[admin][http]") {
  http::Request r;
  r.query = "a=1&b=%20x&c&d=";
  r.headers = {{"Cookie", "x=1; y=2"}, {"Cookie", "z=3"}};
  CHECK(r.arg("a").value() == "1");
  CHECK(r.arg("b").value() == " x");
  CHECK(r.arg("c").value().empty());
  CHECK_FALSE(r.arg("e").has_value());
  CHECK(r.cookie("y") == "2");
  CHECK(r.cookie("z") == "3");
  CHECK(r.cookie("w").empty());
}
