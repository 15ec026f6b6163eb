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

namespace {

std::string reads_bodies(const Gateway& g, const char* matching) {
  return R"({"uri":"/*","vars":[["post_arg_a",")" + std::string(matching) +
         R"(","1"]],"upstream":{"type":"roundrobin","nodes":{"127.0.0.1:)" + std::to_string(g.origin_port) + R"(":1}}})";
}

// Sends what the socket takes, turning the reactor in between.
void push(Gateway& g, Peer& client, std::string_view text) {
  CHECK(g.until([&] {
    const ssize_t n = ::send(client.fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    return text.empty();
  }));
}

std::string chunks(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "3e8\r\n" + std::string(1000, static_cast<char>('a' + i % 26)) + "\r\n";
  return text;
}

std::string without_framing(std::string_view chunked) {
  std::string body;
  while (true) {
    const std::size_t line = chunked.find("\r\n");
    if (line == std::string_view::npos) return body;
    const std::size_t n = std::stoul(std::string(chunked.substr(0, line)), nullptr, 16);
    if (n == 0 || chunked.size() < line + 4 + n) return body;
    body += chunked.substr(line + 2, n);
    chunked.remove_prefix(line + 4 + n);
  }
}

}  // namespace

TEST_CASE("a body longer than its readers take is not kept for them and streams on", "[exchange][phases][body-bound]") {
  // In memory, and with a part of it in a file already.
  const std::size_t spill = GENERATE(65536, 4096);
  const std::size_t count = 40;
  Gateway g([&](Settings& s) {
    s.readable_body = 20000;
    s.spill = spill;
  });
  g.put(conf::Kind::route, "1", reads_bodies(g, "~="));   // absent is not "1"
  Peer client = g.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n"
              "Transfer-Encoding: chunked\r\n\r\n");
  const std::string sent = chunks(count);
  push(g, client, std::string_view(sent).substr(0, sent.size() / 2 + 7000));
  Peer origin = g.origin();   // asked before the client has sent all of it
  push(g, client, std::string_view(sent).substr(sent.size() / 2 + 7000));
  client.send("0\r\n\r\n");
  CHECK(g.until([&] {
    origin.pull();
    return origin.in.ends_with("0\r\n\r\n");
  }));
  CHECK(origin.in.find("Transfer-Encoding: chunked\r\n") != std::string::npos);
  CHECK(without_framing(origin.in.substr(origin.in.find("\r\n\r\n") + 4)) == without_framing(sent));
  origin.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  g.expect(client, "\r\n\r\nok");
}

TEST_CASE("proxy-control holds a request back until its body is there", "[exchange][phases]") {
  const bool gathered = GENERATE(true, false);
  Gateway g;
  g.route(std::string(R"("plugins":{"proxy-control":{"request_buffering":)") + (gathered ? "true" : "false") + "}},");
  Peer client = g.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc");
  g.settle();
  const int fd = ::accept4(g.origin_listener(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  CHECK((fd < 0) == gathered);
  client.send("def");
  Peer origin = fd >= 0 ? Peer(fd) : g.origin();
  g.expect(origin, "\r\n\r\nabcdef");
}

TEST_CASE("a stated length beyond what readers take is known before the body", "[exchange][phases][body-bound]") {
  Gateway g([](Settings& s) { s.readable_body = 20000; });
  g.put(conf::Kind::route, "1", reads_bodies(g, "=="));
  Peer client = g.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n"
              "Content-Length: 99999999\r\n\r\na=1&");
  CHECK(g.expect(client, "404 Route Not Found").starts_with("HTTP/1.1 404"));
}

TEST_CASE("an unauthenticated client cannot make the gateway keep more than the plugin's bound", "[exchange][body-bound]") {
  Gateway g;
  g.route(R"("plugins":{"hmac-auth":{"validate_request_body":true,"max_req_body_size":1000}},)");
  Peer client = g.connect();
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  push(g, client, chunks(3));   // more than the bound, and no end of the body
  g.expect(client, "HTTP/1.1 401");
}

TEST_CASE("the bound on trailers holds", "[exchange][body-bound]") {
  Gateway g([](Settings& s) { s.trailers = 20; });
  g.route();
  for (const bool fits : {true, false}) {
    Peer client = g.connect();
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-T: " +
                std::string(fits ? 8 : 30, 't') + "\r\n\r\n");
    if (!fits) {
      g.expect(client, "HTTP/1.1 400");
      continue;
    }
    Peer origin = g.origin();
    g.expect(origin, "\r\n\r\n");
    origin.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    g.expect(client, "\r\n\r\nok");
  }
}

TEST_CASE("fields with an underscore are passed on, unless the node drops them", "[exchange][security]") {
  const bool kept = GENERATE(true, false);
  Gateway g([&](Settings& s) { s.underscores_in_headers = kept; });
  g.route();
  Peer client = g.connect();
  client.send("GET / HTTP/1.1\r\nHost: h\r\nX_Own: 1\r\nX-Own: 2\r\n\r\n");
  Peer origin = g.origin();
  const std::string head = g.expect(origin, "\r\n\r\n");
  CHECK((head.find("X_Own: 1\r\n") != std::string::npos) == kept);
  CHECK(head.find("X-Own: 2\r\n") != std::string::npos);
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
