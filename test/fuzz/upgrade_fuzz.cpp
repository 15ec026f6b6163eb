// Upgrades. The first part of the input is what the client writes into an upgrade request's head and what the origin answers;
// when both agree, the connection is a tunnel and everything after that arrives unchanged, in order, in both directions.
// Otherwise no octet of the client's may reach the origin as anything but a strict request.
#include <cstdint>

#include "test/fuzz/session_stage.hpp"
#include "test/fuzz/strict_reader.hpp"

using namespace sluice::fuzz;

namespace {

bool agreed(const Stage& stage) {
  return std::string_view(stage.client->received).starts_with("HTTP/1.1 101 ");
}

std::string_view behind_head(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  return end == std::string_view::npos ? std::string_view() : text.substr(end + 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Stage& stage = *new Stage;
  if (size < 3) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data) + 3, size - 3);
  const std::string_view fields = all.substr(0, data[0]);
  const std::string_view answer = all.substr(fields.size(), data[1]);
  const std::string_view stream = all.substr(fields.size() + answer.size());
  const unsigned mode = data[2];
  stage.begin(-1);
  stage.client->send("GET /ws/x HTTP/1.1\r\nHost: h\r\n");
  stage.client->send((mode & 1) != 0 ? "Connection: upgrade\r\nUpgrade: websocket\r\n" : "");
  stage.client->send(fields);
  stage.client->send("\r\n\r\n");
  stage.turn(4);
  End* const origin = stage.origin();
  if (origin == nullptr) {
    stage.end();
    return 0;
  }
  origin->send((mode & 2) != 0 ? "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" : "");
  origin->send(answer);
  origin->send("\r\n\r\n");
  stage.turn(4);
  if (!agreed(stage)) {
    stage.client->send(stream);
    stage.turn(4);
    for (const End& o : stage.origins) {
      // A request may have asked for an upgrade: behind its head nothing of the client's may stand.
      StrictReader::check_requests(o.received);
    }
    stage.end();
    return 0;
  }
  const std::size_t up = behind_head(origin->received).size();
  const std::size_t down = behind_head(stage.client->received).size();
  std::size_t sent_up = 0, sent_down = 0;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t piece = std::min<std::size_t>(1 + (static_cast<unsigned char>(stream[at]) & 63), stream.size() - at);
    ((stream[at] & 64) != 0 ? sent_up : sent_down) +=
        ((stream[at] & 64) != 0 ? *stage.client : *origin).send(stream.substr(at, piece));
    at += piece;
    if ((mode & 4) != 0) stage.turn();
  }
  const auto arrived = [&] {
    return behind_head(origin->received).size() - up == sent_up &&
           behind_head(stage.client->received).size() - down == sent_down;
  };
  for (int i = 0; i < 300 && !arrived(); ++i) stage.turn(1, i < 20 ? 0 : 1);
  if (!origin->ended && !stage.client->ended && !arrived()) std::abort();
  stage.end();
  return 0;
}
