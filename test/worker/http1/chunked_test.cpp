#include "worker/http1/chunked.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace sluice;
using namespace sluice::worker;

namespace {

struct Result {
  ChunkDecoder::Status status = ChunkDecoder::Status::more;
  std::string payload, trailer;
  std::size_t used = 0;
};

Result decode(const std::string& text, std::size_t piece) {
  Result r;
  ChunkDecoder d;
  char trailer[ChunkDecoder::kMaxTrailer];
  for (std::size_t at = 0; at < text.size() && r.status == ChunkDecoder::Status::more;) {
    std::string part = text.substr(at, piece);
    const auto step = d.decode(part.data(), part.size(), trailer);
    r.payload += part.substr(step.offset, step.payload);
    r.status = step.status;
    r.used += step.used;
    at += part.size();
  }
  r.trailer.assign(trailer, d.trailer_size());
  return r;
}

}  // namespace

TEST_CASE("chunks come out the same in pieces of any size", "[http1][chunked]") {
  const std::string text = "5;a=b\r\nhello\r\n00A \t;x\r\n, world!!!\r\n0\r\nX-T: 1\r\nY: 2\r\n\r\nGET";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const Result r = decode(text, piece);
    REQUIRE(r.status == ChunkDecoder::Status::done);
    CHECK(r.payload == "hello, world!!!");
    CHECK(r.trailer == "X-T: 1\r\nY: 2\r\n");
    CHECK(r.used == text.size() - 3);
  }
}

TEST_CASE("chunk framing that is not strict is a fault", "[http1][chunked][smuggling]") {
  for (const std::string text :
       {"0x5\r\nhello\r\n", "5;ext\nhello", "-1\r\n", "+5\r\nhello\r\n", "FFFFFFFFFFFFFFFFF\r\n", "5 5\r\nhello\r\n",
        "5\nhello\r\n", "5\r\nhelloX", "5\r\nhello\n", "\r\n", " 5\r\nhello\r\n", "5 \r\nhello\r\n", "5\rXhello",
        "g\r\n", "0\r\n\n", "0\r\nX: 1\n\r\n", "0\r\n X: 1\r\n\r\n"}) {
    INFO(text);
    CHECK(decode(text, 1).status == ChunkDecoder::Status::fault);
    CHECK(decode(text, 100).status == ChunkDecoder::Status::fault);
  }
}

TEST_CASE("endless extensions, zeros and trailers end in a fault", "[http1][chunked]") {
  CHECK(decode("5;" + std::string(70000, 'a'), 1000).status == ChunkDecoder::Status::fault);
  CHECK(decode(std::string(100, '0'), 10).status == ChunkDecoder::Status::fault);
  CHECK(decode("0\r\nX: " + std::string(10000, 'a'), 1000).status == ChunkDecoder::Status::fault);
  std::string many;
  for (int i = 0; i < 100; ++i) many += "1;" + std::string(1000, 'x') + "\r\na\r\n";
  CHECK(decode(many, 5000).status == ChunkDecoder::Status::fault);
}

TEST_CASE("trailers are checked and fields of a head are left out", "[http1][chunked]") {
  sdk::Arena arena;
  sdk::HeaderList out(arena);
  REQUIRE(parse_trailers("X-T:  1 \r\nContent-Length: 5\r\nHost: evil\r\nAuthorization: x\r\n", out));
  CHECK(out.size() == 1);
  CHECK(out.get("x-t") == "1");
  CHECK_FALSE(parse_trailers("X T: 1\r\n", out));
  CHECK_FALSE(parse_trailers("no colon\r\n", out));
  CHECK_FALSE(parse_trailers(std::string_view("X: a\0b\r\n", 8), out));
}

TEST_CASE("a chunk size is written backwards", "[http1][chunked]") {
  char room[32];
  char* const begin = write_chunk_size(room + 32, 0x1234abcd);
  CHECK(std::string(begin, room + 32) == "1234abcd\r\n");
}
