// The chunked decoder: the payload and the verdict do not depend on how the octets arrive.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "worker/http1/chunked.hpp"

using namespace sluice::worker;

namespace {

struct Outcome {
  std::string payload;
  std::size_t used = 0;
  ChunkDecoder::Status status = ChunkDecoder::Status::more;
  std::string trailer;
};

Outcome decode(const std::string& octets, std::size_t piece) {
  Outcome out;
  ChunkDecoder decoder;
  char trailer[ChunkDecoder::kMaxTrailer];
  std::string waiting;
  std::size_t at = 0;
  while (out.status == ChunkDecoder::Status::more && at < octets.size()) {
    const std::size_t n = std::min(piece, octets.size() - at);
    waiting.append(octets, at, n);
    at += n;
    std::string copy = waiting;
    const auto step = decoder.decode(copy.data(), copy.size(), trailer);
    if (step.used > copy.size() || step.offset + step.payload > copy.size()) std::abort();
    out.payload.append(copy, step.offset, step.payload);
    out.used += step.used;
    out.status = step.status;
    waiting.erase(0, step.used);
  }
  if (out.status == ChunkDecoder::Status::done) out.trailer.assign(trailer, decoder.trailer_size());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 20000) return 0;
  const std::string octets(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = decode(octets, octets.size() + 1);
  const Outcome pieces = decode(octets, 1 + data[0] % 7);
  if (whole.status != pieces.status) std::abort();
  if (whole.status == ChunkDecoder::Status::fault) return 0;
  if (whole.payload != pieces.payload || whole.trailer != pieces.trailer || whole.used != pieces.used) std::abort();
  return 0;
}
