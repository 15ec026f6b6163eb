// Plugins on the request path: replies, pauses, header and body filters, and what the log sees.
#include "test/worker/exchange/gateway_kit.hpp"

using namespace sluice;
using namespace sluice::worker;
using namespace sluice::worker::test;

namespace {

const std::string kGet = "GET /a HTTP/1.1\r\nHost: h.test\r\n\r\n";

void answer_with(Gateway& g, Peer& origin, const std::string& body) {
  g.expect(origin, "\r\n\r\n");
  origin.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

}  // namespace

TEST_CASE("a plugin's reply ends the request and the connection stays", "[exchange][phases]") {
  Gateway g;
  g.route(R"("plugins":{"mocking":{"response_status":201,"response_example":"made","content_type":"text/plain"}},)");
  Peer client = g.connect();
  client.send(kGet + kGet);
  g.until([&] {
    client.pull();
    return client.in.rfind("made") > client.in.find("made");
  });
  CHECK(client.in.starts_with("HTTP/1.1 201 Created\r\n"));
  CHECK(client.in.find("Content-Length: 4\r\n") != std::string::npos);
  CHECK(g.no_origin());
}

TEST_CASE("a body that a filter changes gets a new framing", "[exchange][phases]") {
  Gateway g;
  g.route(R"("plugins":{"response-rewrite":{"body":"new and longer","status_code":203}},)");
  Peer client = g.connect();
  client.send(kGet);
  Peer origin = g.origin();
  answer_with(g, origin, "old");
  g.expect(client, "new and longer");
  CHECK(client.in.starts_with("HTTP/1.1 203"));
  CHECK(client.in.find("old") == std::string::npos);
  const bool counted = client.in.find("Content-Length: 14\r\n") != std::string::npos;
  const bool chunked = client.in.find("Transfer-Encoding: chunked\r\n") != std::string::npos;
  CHECK(counted != chunked);
  CHECK(client.in.find("Content-Length: 3\r\n") == std::string::npos);
}

TEST_CASE("a pause holds the request back and lets go of a client that leaves", "[exchange][phases]") {
  Gateway g;
  g.route(R"("plugins":{"fault-injection":{"delay":{"duration":0.05}}},)");
  Peer client = g.connect();
  const TimePoint before = monotonic_now();
  client.send(kGet);
  Peer origin = g.origin();
  CHECK(monotonic_now() - before >= milliseconds(50));
  answer_with(g, origin, "ok");
  g.expect(client, "ok");
  Peer hasty = g.connect();
  hasty.send(kGet);
  g.settle();
  hasty.close();
  CHECK(g.until([&] { return g.worker->session_count == 1; }));
  CHECK(g.no_origin());
}

TEST_CASE("a body that is read before access reaches the node with its length", "[exchange][phases]") {
  Gateway g;
  g.put(conf::Kind::route, "1",
        R"({"uri":"/*","vars":[["post_arg_a","==","1"]],"upstream":{"type":"roundrobin","nodes":{"127.0.0.1:)" +
            std::to_string(g.origin_port) + R"(":1}}})");
  Peer client = g.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n"
              "Transfer-Encoding: chunked\r\n\r\n2\r\na=\r\n");
  g.settle();
  client.send("1\r\n1\r\n0\r\n\r\n");
  Peer origin = g.origin();
  CHECK(g.expect(origin, "\r\n\r\na=1").find("Content-Length: 3\r\n") != std::string::npos);
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na=2");
}

TEST_CASE("a large body that is read goes through a file and arrives whole", "[exchange][phases]") {
  Gateway g;
  g.put(conf::Kind::route, "1",
        R"({"uri":"/*","vars":[["post_arg_a","==","1"]],"upstream":{"type":"roundrobin","nodes":{"127.0.0.1:)" +
            std::to_string(g.origin_port) + R"(":1}}})");
  Peer client = g.connect();
  std::string body = "a=1&b=";
  for (int i = 0; body.size() < 300000; ++i) body += std::to_string(i);
  std::string text = "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body;
  std::size_t at = 0;
  g.until([&] {
    const ssize_t n = ::send(client.fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n > 0) at += static_cast<std::size_t>(n);
    return at == text.size();
  });
  Peer origin = g.origin();
  CHECK(g.until([&] {
    origin.pull();
    return origin.in.size() > body.size() && origin.in.ends_with(body);
  }));
}

TEST_CASE("forwarding fields: what an untrusted client says does not stand", "[exchange][security]") {
  for (const bool trusted : {false, true}) {
    Gateway g([trusted](Settings& s) {
      s.trusted_configured = true;
      if (trusted) s.trusted.add("127.0.0.1");
    });
    g.route();
    Peer client = g.connect();
    client.send("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nX-Real-IP: 7.7.7.7\r\n"
                "X_Forwarded_For: 8.8.8.8\r\nForwarded: for=9\r\nConnection: X-Forwarded-For, X-Drop\r\nX-Drop: 1\r\n\r\n");
    Peer origin = g.origin();
    const std::string got = g.expect(origin, "\r\n\r\n");
    CHECK((got.find("6.6.6.6") != std::string::npos) == trusted);
    CHECK((got.find("Proto: https") != std::string::npos) == trusted);
    CHECK(got.find("X-Real-IP: 127.0.0.1\r\n") != std::string::npos);
    for (const char* gone : {"7.7.7.7", "8.8.8.8", "for=9", "X-Drop"}) CHECK(got.find(gone) == std::string::npos);
  }
}

TEST_CASE("the client's address from a trusted peer's field", "[exchange][security]") {
  Gateway g([](Settings& s) { s.real_ip_from.add("127.0.0.1"); });
  g.route();
  Peer client = g.connect();
  client.send("GET / HTTP/1.1\r\nHost: h\r\nX-Real-IP: 10.1.2.3\r\n\r\n");
  Peer origin = g.origin();
  CHECK(g.expect(origin, "\r\n\r\n").find("X-Real-IP: 10.1.2.3\r\n") != std::string::npos);
}
