// Any octets as a stream of bus frames, and any octets as a payload: decode refuses or understands exactly.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "worker/live/bus_protocol.hpp"

using namespace sluice::live::bus;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view octets(reinterpret_cast<const char*>(data), size);
  FrameReader reader(1u << 20);
  Frame frame;
  for (std::size_t at = 0; at < size;) {
    const std::size_t n = 1 + data[at] % 64;
    reader.append(octets.substr(at, n));
    at += n;
    while (reader.next(frame) == FrameReader::Status::frame) decode(frame);
  }
  if (size > 0) {
    const Frame made{data[0], octets.substr(1)};
    if (const auto message = decode(made)) {
      if (std::string_view(encode(*message)).substr(kHeadBytes) != made.payload) std::abort();
    }
  }
  return 0;
}
