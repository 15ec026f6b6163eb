// A whole session: any octets from the client and from the origin, in any order and pieces, ends and resets in between,
// and one operation that fails. No request that leaves the gateway is anything but strict, nothing is left behind.
//
// The input is a script: [operation that fails] then steps of [what][how much][octets].
#include <cstdint>

#include "test/fuzz/session_stage.hpp"
#include "test/fuzz/strict_reader.hpp"

using namespace sluice::fuzz;

namespace {

constexpr std::string_view kRequests[] = {
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST /body/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n",
    "GET /rewrite/x HTTP/1.1\r\nHost: h\r\nConnection: close, x-c\r\nX-C: 1\r\n\r\n",
    "GET /ws/x HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    "HEAD / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n",
    "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
    "5\r\nhello\r\n",
    "0\r\n\r\n",
};
constexpr std::string_view kAnswers[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\n\r\n",
    "5\r\nhello\r\n",
    "0\r\n\r\n",
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Stage& stage = *new Stage;
  if (size < 2) return 0;
  stage.begin(data[0] < 128 ? static_cast<int>(data[0]) : -1);
  std::size_t at = 1;
  for (int steps = 0; at + 1 < size && steps < 64; ++steps) {
    const unsigned what = data[at] & 15, which = data[at] >> 4;
    const std::size_t n = std::min<std::size_t>(data[at + 1], size - at - 2);
    const std::string_view octets(reinterpret_cast<const char*>(data) + at + 2, n);
    End* const origin = stage.origin();
    at += 2;
    switch (what) {
      case 0: case 1: case 2: stage.client->send(octets); at += n; break;
      case 3: case 4:
        if (origin != nullptr) origin->send(octets);
        at += n;
        break;
      case 5: case 6: stage.client->send(kRequests[which & 7]); break;
      case 7: case 8:
        if (origin != nullptr) origin->send(kAnswers[which & 7]);
        break;
      case 9: stage.client->half_close(); break;
      case 10:
        if (origin != nullptr) origin->half_close();
        break;
      case 11:
        if (origin != nullptr && (which & 1) != 0) origin->reset();
        break;
      case 12:
        if (which == 0) stage.client->close();
        break;
      default: stage.turn(1 + static_cast<int>(which & 3)); break;
    }
    if ((which & 8) == 0) stage.turn();
  }
  stage.turn(4);
  for (const End& o : stage.origins) StrictReader::check_requests(o.received);
  if (!stage.client->received.empty() && !std::string_view(stage.client->received).starts_with("HTTP/1.")) std::abort();
  stage.end();
  return 0;
}
