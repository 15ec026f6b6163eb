#include "worker/http1/request_head.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace sluice;
using namespace sluice::worker;

namespace {

struct Parsed {
  sdk::Arena arena;
  sdk::HeaderList fields{arena};
  RequestHead head;
  HeadFault fault;
  std::string octets;
  explicit Parsed(std::string text, HeadLimits limits = {}) : octets(std::move(text)) {
    fault = parse_request_head(octets, 0, limits, fields, head);
  }
};

HeadFault fault_of(const std::string& text) { return Parsed(text).fault; }

std::string with(const std::string& fields) { return "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"; }

}  // namespace

TEST_CASE("a plain head gives views of its parts", "[http1]") {
  Parsed p("POST /a?b=1 HTTP/1.1\r\nHost: Example.com:8080\r\nX-A: 1\r\nContent-Length: 5\r\n\r\nhello");
  REQUIRE(p.fault == HeadFault::none);
  CHECK(p.head.method == "POST");
  CHECK(p.head.target == "/a?b=1");
  CHECK(p.head.line == "POST /a?b=1 HTTP/1.1");
  CHECK(p.head.host == "Example.com");
  CHECK(p.head.port == 8080);
  CHECK(p.head.framing == BodyFraming::length);
  CHECK(p.head.length == 5);
  CHECK(p.head.size == p.octets.size() - 5);
  CHECK(p.fields.get("x-a") == "1");
  CHECK(p.fields.begin()->value.data() > p.octets.data());
}

TEST_CASE("a head that is not whole wants more, octet by octet", "[http1]") {
  const std::string text = with("Accept: */*\r\n");
  for (std::size_t n = 1; n < text.size(); ++n) {
    sdk::Arena arena;
    sdk::HeaderList fields(arena);
    RequestHead head;
    CHECK(parse_request_head(text.substr(0, n), n == 1 ? 0 : n - 1, {}, fields, head) == HeadFault::need_more);
  }
}

TEST_CASE("what smuggling needs is refused", "[http1][smuggling]") {
  const std::string bad[] = {
      with("Content-Length: 5\r\nContent-Length: 6\r\n"),
      with("Content-Length: 5\r\nContent-Length: 5\r\n"),
      with("Content-Length: 5, 5\r\n"),
      with("Content-Length: +5\r\n"),
      with("Content-Length: 0x5\r\n"),
      with("Content-Length: \r\n"),
      with("Content-Length: 99999999999999999999\r\n"),
      with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
      with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
      with("Transfer-Encoding: chunked, chunked\r\n"),
      with("Transfer-Encoding: gzip, chunked\r\n"),
      with("Transfer-Encoding: \x0b" "chunked\r\n"),
      with("Transfer-Encoding: \"chunked\"\r\n"),
      with("Transfer-Encoding : chunked\r\n"),
      with("X : 1\r\n"),
      with("X\t: 1\r\n"),
      with(": 1\r\n"),
      with("X: 1\r\n folded\r\n"),
      with("X: a\rb\r\n"),
      with("X: a\nY: b\r\n"),
      with(std::string("X: a\0b\r\n", 8)),
      "GET / HTTP/1.1\nHost: a\n\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: \r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a:70000\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
      "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
  };
  for (const std::string& text : bad) {
    INFO(text);
    const HeadFault f = fault_of(text);
    CHECK(f != HeadFault::none);
    CHECK(f != HeadFault::need_more);
    CHECK(status_of(f) >= 400);
  }
}

TEST_CASE("faults have the status of their own", "[http1]") {
  CHECK(status_of(fault_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n")) == 505);
  CHECK(status_of(fault_of("GET / HTTP/9.9\r\nHost: a\r\n\r\n")) == 505);
  CHECK(status_of(fault_of("GET / HTTP/1\r\nHost: a\r\n\r\n")) == 400);
  CHECK(status_of(fault_of("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n")) == 405);
  CHECK(status_of(fault_of(with("Transfer-Encoding: gzip\r\n"))) == 501);
  CHECK(status_of(fault_of("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n")) == 414);
  CHECK(status_of(fault_of("GET /" + std::string(9000, 'a'))) == 414);
  CHECK(status_of(fault_of(with("X: " + std::string(40000, 'a') + "\r\n"))) == 431);
  std::string many;
  for (int i = 0; i < 120; ++i) many += "X: 1\r\n";
  CHECK(status_of(fault_of(with(many))) == 431);
}

TEST_CASE("forms of the target", "[http1]") {
  Parsed absolute("GET HTTP://Other.com:81/x?y HTTP/1.1\r\nHost: a\r\n\r\n");
  REQUIRE(absolute.fault == HeadFault::none);
  CHECK(absolute.head.authority == "Other.com:81");
  CHECK(absolute.head.path_query == "/x?y");
  Parsed bare("GET http://b HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(bare.head.path_query == "/");
  Parsed star("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
  REQUIRE(star.fault == HeadFault::none);
  CHECK(star.head.form == TargetForm::asterisk);
}

TEST_CASE("persistence, expectation and upgrade", "[http1]") {
  CHECK_FALSE(Parsed(with("")).head.close);
  CHECK(Parsed(with("Connection: foo, Close\r\n")).head.close);
  CHECK(Parsed("GET / HTTP/1.0\r\n\r\n").head.close);
  CHECK_FALSE(Parsed("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").head.close);
  CHECK(Parsed(with("Expect: 100-Continue\r\n")).head.expects_continue);
  CHECK(Parsed(with("Expect: fish\r\n")).head.expects_unknown);
  CHECK(Parsed(with("Connection: Upgrade\r\nUpgrade: websocket\r\n")).head.wants_upgrade);
  CHECK_FALSE(Parsed(with("Upgrade: websocket\r\n")).head.wants_upgrade);
  CHECK_FALSE(Parsed("GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n").head.wants_upgrade);
  CHECK(Parsed(with("Connection: x-secret\r\n")).head.names_fields);
  CHECK(Parsed(with("X_Forwarded_For: 1\r\n")).head.odd_names);
}
