#include "worker/http1/response_head.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace sluice;
using namespace sluice::worker;

namespace {

struct Parsed {
  sdk::Arena arena;
  sdk::HeaderList fields{arena};
  ResponseHead head;
  ResponseFault fault;
  std::string octets;
  explicit Parsed(std::string text, bool no_body = false) : octets(std::move(text)) {
    fault = parse_response_head(octets, 0, 65536, no_body, fields, head);
  }
};

}  // namespace

TEST_CASE("framing of answers", "[http1][answer]") {
  CHECK(Parsed("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n").head.framing == BodyFraming::length);
  CHECK(Parsed("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n").head.framing == BodyFraming::chunked);
  CHECK(Parsed("HTTP/1.1 200 OK\r\n\r\n").head.framing == BodyFraming::until_close);
  CHECK(Parsed("HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\n").head.framing == BodyFraming::none);
  CHECK(Parsed("HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n").head.framing == BodyFraming::none);
  Parsed head("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true);
  CHECK(head.head.framing == BodyFraming::none);
  CHECK(head.head.stated_length == 3);
  CHECK(Parsed("HTTP/1.0 200 OK\r\n\r\n").head.close);
  CHECK_FALSE(Parsed("HTTP/1.1 200 OK\r\n\r\n").head.close);
}

TEST_CASE("answers that are not one clear answer are faults", "[http1][answer][smuggling]") {
  for (const std::string text :
       {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: foo\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nA b: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: 1\r\n b\r\n\r\n", "HTTP/1.1 200 OK\nA: 1\n\n"}) {
    INFO(text);
    CHECK(Parsed(text).fault == ResponseFault::malformed);
  }
}
