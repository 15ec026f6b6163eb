// The request path end to end: what the origin gets, what the client gets, what becomes of the connections.
#include "test/worker/exchange/gateway_kit.hpp"

using namespace sluice;
using namespace sluice::worker;
using namespace sluice::worker::test;

namespace {

const std::string kGet = "GET /a?b=1 HTTP/1.1\r\nHost: h.test\r\n\r\n";
const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

}  // namespace

TEST_CASE("a request and its answer, twice over the same connections", "[exchange]") {
  Gateway g;
  g.route();
  Peer client = g.connect();
  client.send(kGet);
  Peer origin = g.origin();
  const std::string got = g.expect(origin, "\r\n\r\n");
  CHECK(got.starts_with("GET /a?b=1 HTTP/1.1\r\nHost: h.test\r\n"));
  CHECK(got.find("X-Forwarded-For: 127.0.0.1\r\n") != std::string::npos);
  CHECK(got.find("X-Forwarded-Proto: http\r\n") != std::string::npos);
  origin.take();
  origin.send(kOk);
  CHECK(g.expect(client, "\r\n\r\nok").find("Server: sluice\r\n") != std::string::npos);
  client.take();
  client.send(kGet);
  g.expect(origin, "\r\n\r\n");
  origin.send(kOk);
  g.expect(client, "\r\n\r\nok");
  CHECK(g.no_origin());
  CHECK(g.pool.idle() == 1);
}

TEST_CASE("a small chunked body goes on with its length, a long one in chunks", "[exchange]") {
  Gateway g;
  g.route();
  Peer client = g.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  Peer origin = g.origin();
  CHECK(g.expect(origin, "\r\n\r\nabc").find("Content-Length: 3\r\n") != std::string::npos);
  origin.send(kOk);
  g.expect(client, "ok");
  origin.take();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  g.expect(origin, "3\r\nabc\r\n");
  client.send("2\r\nde\r\n0\r\nX-T: 1\r\n\r\n");
  CHECK(g.expect(origin, "X-T: 1\r\n\r\n").find("2\r\nde\r\n0\r\nX-T: 1\r\n\r\n") != std::string::npos);
}

TEST_CASE("answers: chunked, until close, HEAD, 204, 304, interim", "[exchange]") {
  Gateway g;
  g.route();
  Peer client = g.connect();
  client.send(kGet);
  Peer origin = g.origin();
  g.expect(origin, "\r\n\r\n");
  origin.send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
  g.expect(client, "2\r\nok\r\n");
  CHECK(client.in.starts_with("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n"));
  origin.send("0\r\nX-T: 1\r\n\r\n");
  g.expect(client, "0\r\nX-T: 1\r\n\r\n");
  client.take();
  origin.take();
  client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n" + kGet);
  g.expect(origin, "\r\n\r\n");
  origin.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
  g.expect(origin, "GET");
  origin.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n");
  g.expect(client, "HTTP/1.1 304");
  CHECK(client.in.find("Content-Length: 10") != std::string::npos);
  client.take();
  origin.take();
  client.send(kGet);
  g.expect(origin, "\r\n\r\n");
  origin.send("HTTP/1.1 200 OK\r\n\r\npart");
  g.expect(client, "4\r\npart\r\n");
  origin.close();
  g.expect(client, "0\r\n\r\n");
}

TEST_CASE("an answer cut short never looks whole", "[exchange][smuggling]") {
  Gateway g;
  g.route();
  for (const std::string cut : {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nhalf",
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"}) {
    Peer client = g.connect();
    client.send(kGet);
    Peer origin = g.origin();
    g.expect(origin, "\r\n\r\n");
    origin.send(cut);
    g.settle();
    origin.close();
    CHECK(g.ends(client));
    CHECK(client.in.find("\r\n0\r\n\r\n") == std::string::npos);
    CHECK(client.in.find("Content-Length: 4") == std::string::npos);
  }
  CHECK(g.pool.idle() == 0);
}

TEST_CASE("a stale connection of the pool is invisible to what may be sent again", "[exchange][retry]") {
  Gateway g;
  g.route();
  Peer client = g.connect();
  client.send(kGet);
  Peer origin = g.origin();
  g.expect(origin, "\r\n\r\n");
  origin.send(kOk);
  g.expect(client, "ok");
  client.take();
  origin.take();
  client.send(kGet);
  g.expect(origin, "\r\n\r\n");  // taken from the pool, read, and then:
  origin.reset();
  Peer second = g.origin();
  g.expect(second, "\r\n\r\n");
  second.send(kOk);
  CHECK(g.expect(client, "ok").starts_with("HTTP/1.1 200"));
}

TEST_CASE("a POST that may have reached a node is not sent again", "[exchange][retry]") {
  Gateway g;
  g.route();
  Peer client = g.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");
  Peer origin = g.origin();
  g.expect(origin, "\r\n\r\nx");
  origin.reset();
  CHECK(g.expect(client, "</html>").starts_with("HTTP/1.1 502"));
  CHECK(client.in.find("X-APISIX-Upstream-Status: 502\r\n") != std::string::npos);
  CHECK(g.no_origin());
}

TEST_CASE("octets on an idle connection, or after an answer, discard it", "[exchange][smuggling]") {
  Gateway g;
  g.route();
  Peer client = g.connect();
  client.send(kGet);
  Peer origin = g.origin();
  g.expect(origin, "\r\n\r\n");
  origin.send(kOk + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  g.expect(client, "ok");
  CHECK(g.pool.idle() == 0);
  client.take();
  client.send(kGet);
  Peer second = g.origin();
  g.expect(second, "\r\n\r\n");
  second.send(kOk);
  g.expect(client, "ok");
  CHECK(g.pool.idle() == 1);
  second.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  CHECK(g.until([&] { return g.pool.idle() == 0; }));
}

TEST_CASE("refused heads get their status and the connection ends", "[exchange]") {
  Gateway g;
  g.route();
  Peer client = g.connect();
  client.send(kGet + "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
  Peer origin = g.origin();
  g.expect(origin, "\r\n\r\n");
  origin.send(kOk);
  CHECK(g.expect(client, "400 Bad Request</h1>").find("ok") != std::string::npos);
  CHECK(g.ends(client));
  CHECK(g.worker->refusals[static_cast<std::size_t>(Refusal::bad_host)] == 1);
}

TEST_CASE("no route, no upstream, dead upstream", "[exchange]") {
  Gateway g;
  Peer client = g.connect();
  client.send(kGet);
  g.expect(client, "{\"error_msg\":\"404 Route Not Found\"}\n");
  client.take();
  g.put(conf::Kind::route, "1", R"({"uri":"/*","upstream":{"type":"roundrobin","nodes":{"127.0.0.1:1":1,"127.0.0.2:1":1}}})");
  client.send(kGet);
  g.expect(client, "</html>");
  CHECK(client.in.find("X-APISIX-Upstream-Status: 502, 502\r\n") != std::string::npos);
}

TEST_CASE("the body limit holds in both framings", "[exchange][body-bound]") {
  Gateway g([](Settings& s) { s.max_body = 5; });
  g.route();
  Peer client = g.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n");
  CHECK(g.expect(client, "</html>").starts_with("HTTP/1.1 413"));
  Peer chunked = g.connect();
  chunked.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n");
  CHECK(g.expect(chunked, "</html>").starts_with("HTTP/1.1 413"));
}

TEST_CASE("100-continue is said when the body is wanted", "[exchange]") {
  Gateway g;
  g.route();
  Peer client = g.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  g.expect(client, "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hi");
  Peer origin = g.origin();
  CHECK(g.expect(origin, "\r\n\r\nhi").find("Expect") == std::string::npos);
}

TEST_CASE("an upgrade that was asked for becomes a tunnel", "[exchange]") {
  Gateway g;
  g.route(R"("enable_websocket":true,)");
  Peer client = g.connect();
  client.send("GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  Peer origin = g.origin();
  CHECK(g.expect(origin, "\r\n\r\n").find("Upgrade: websocket\r\n") != std::string::npos);
  origin.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
  g.expect(client, "\r\n\r\nhello");
  client.send("ping");
  g.expect(origin, "ping");
  client.close();
  CHECK(g.ends(origin));
}

TEST_CASE("a large body each way in constant memory, the client slow", "[exchange]") {
  Gateway g;
  g.route();
  Peer client = g.connect();
  client.send(kGet);
  Peer origin = g.origin();
  g.expect(origin, "\r\n\r\n");
  constexpr std::size_t kSize = 8u << 20;
  std::string body(kSize, 'x');
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kSize) + "\r\n\r\n" + body;
  std::size_t at = 0;
  std::size_t most = 0;
  REQUIRE(g.until(
      [&] {
        const ssize_t n = ::send(origin.fd, answer.data() + at, answer.size() - at, MSG_NOSIGNAL);
        if (n > 0) at += static_cast<std::size_t>(n);
        most = std::max(most, Buffer::outstanding_bytes());
        if (at == answer.size() || g.reactor.now().time_since_epoch().count() % 3 == 0) client.pull();
        return client.in.size() > kSize;
      },
      20000));
  CHECK(g.until([&] {
    client.pull();
    const std::size_t head = client.in.find("\r\n\r\n");
    return head != std::string::npos && client.in.size() == head + 4 + kSize;
  }));
  CHECK(most <= 256 * 1024);
}

TEST_CASE("failing at every operation in turn leaves nothing behind", "[exchange][fault]") {
  struct Nth final : IoFault {
    int left = 0;
    bool hit = false;
    int before(const Io&, char) noexcept override {
      if (left-- != 0) return 0;
      hit = true;
      return ECONNRESET;
    }
  };
  Gateway g;
  g.route();
  bool reached = true;
  for (int n = 0; reached && n < 40; ++n) {
    const std::size_t before = Buffer::outstanding_bytes();
    Nth fault;
    fault.left = n;
    io_fault_for_test = &fault;
    {
      Peer client = g.connect();
      client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
      g.settle();
      client.send("0\r\n\r\n");
      g.settle();
      std::vector<Peer> origins;
      g.until(
          [&] {
            const int fd = ::accept4(g.origin_listener(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd >= 0) origins.emplace_back(fd);
            for (Peer& o : origins) {
              o.pull();
              if (o.in.find("abc") != std::string::npos) {
                o.take();
                o.send(kOk);
              }
            }
            client.pull();
            return client.ended || client.in.find("ok") != std::string::npos ||
                   client.in.find("</html>") != std::string::npos;
          },
          30);
    }
    io_fault_for_test = nullptr;
    reached = fault.hit;
    g.until([&] { return g.worker->session_count == 0; });
    CHECK(g.worker->session_count == 0);
    CHECK(Buffer::outstanding_bytes() == before);
  }
  CHECK_FALSE(reached);
}
