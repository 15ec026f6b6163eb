#include "plugins/response-rewrite/response_rewrite.hpp"

#include <zlib.h>

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::response_rewrite::ResponseRewrite;
using test::Kit;

namespace {

std::string compressed(std::string_view text, int window) {
  z_stream s{};
  REQUIRE(deflateInit2(&s, Z_BEST_SPEED, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(text.size() + 128, '\0');
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  s.avail_in = static_cast<uInt>(text.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&s, Z_FINISH) == Z_STREAM_END);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

// The body that the client gets.
std::string rewritten(const char* conf, const std::vector<std::string>& chunks, const char* coding = nullptr) {
  auto plugin = test::configured<ResponseRewrite>(conf);
  if (!plugin) return plugin.error().reason;
  Kit kit;
  kit.answer(200);
  if (coding != nullptr) kit.answer_header("Content-Encoding", coding);
  kit.header_filter(*plugin);
  return kit.body(*plugin, chunks);
}

}  // namespace

TEST_CASE("response-rewrite replaces status, fields and body", "[plugins][response-rewrite]") {
  auto plugin = test::configured<ResponseRewrite>(
      R"({"status_code":201,"body":"{}","headers":{"set":{"X":"$status","Content-Type":""},"add":["V:a","W: $host"],"remove":["Z"]}})");
  REQUIRE(plugin.has_value());
  CHECK(plugin->needs.alters_length);
  Kit kit;
  kit.answer(200).answer_header("Content-Length", "4").answer_header("ETag", "\"1\"").answer_header("Z", "1");
  kit.answer_header("Content-Encoding", "gzip").answer_header("Last-Modified", "x").answer_header("Content-Type", "t");
  kit.header_filter(*plugin);
  CHECK(kit.ctx.status == 201);
  CHECK(kit.ctx.response_body_replaced);
  CHECK(kit.sent_down("X") == "201|");
  CHECK(kit.sent_down("V") == "a|");
  CHECK(kit.sent_down("W") == "localhost|");
  for (const char* gone : {"Content-Length", "ETag", "Content-Encoding", "Last-Modified", "Content-Type", "Z"})
    CHECK(kit.sent_down(gone).empty());
  CHECK(kit.body(*plugin, {"ab", "cd", ""}) == "{}");
}

TEST_CASE("response-rewrite leaves everything alone where vars do not hold", "[plugins][response-rewrite]") {
  auto plugin = test::configured<ResponseRewrite>(
      R"({"status_code":403,"body":"no","headers":{"X":"1"},"vars":[["status","==",500]]})");
  REQUIRE(plugin.has_value());
  Kit kit;
  kit.answer(200).answer_header("Content-Length", "4");
  kit.header_filter(*plugin);
  CHECK(kit.ctx.status == 200);
  CHECK_FALSE(kit.ctx.response_body_replaced);
  CHECK(kit.sent_down("Content-Length") == "4|");
  CHECK(kit.body(*plugin, {"ab", "cd"}) == "abcd");

  Kit hit;
  hit.answer(500);
  hit.header_filter(*plugin);
  CHECK(hit.ctx.status == 403);
  CHECK(hit.body(*plugin, {""}) == "no");
}

TEST_CASE("response-rewrite without body settings keeps the stream as it is", "[plugins][response-rewrite]") {
  auto plugin = test::configured<ResponseRewrite>(R"({"headers":{"X-N":3,"X-A":"$remote_addr"}})");
  REQUIRE(plugin.has_value());
  CHECK_FALSE(plugin->needs.alters_length);
  Kit kit;
  kit.answer(200).answer_header("Content-Length", "4");
  kit.header_filter(*plugin);
  CHECK(kit.sent_down("X-N") == "3|");
  CHECK(kit.sent_down("X-A") == "127.0.0.1|");
  CHECK(kit.sent_down("Content-Length") == "4|");
  CHECK(kit.body(*plugin, {"ab", "cd"}) == "abcd");
}

TEST_CASE("response-rewrite filters the whole body", "[plugins][response-rewrite]") {
  CHECK(rewritten(R"({"filters":[{"regex":"a","replace":"b"}]})", {"hello a", " a"}) == "hello b a");
  CHECK(rewritten(R"({"filters":[{"regex":"a","replace":"b","scope":"global"}]})", {"hello a a"}) == "hello b b");
  CHECK(rewritten(R"({"filters":[{"regex":"h(e)l","replace":"$1$1"},{"regex":"E","options":"i","replace":"-"}]})",
                  {"h", "e", "llo"}) == "-elo");
  CHECK(rewritten(R"({"filters":[{"regex":"x*","replace":"-","scope":"global"}]})", {"ab"}) == "-a-b-");
  CHECK(rewritten(R"({"filters":[{"regex":"nope","replace":"x"}]})", {"", ""}).empty());
  CHECK(rewritten(R"({"max_resp_body_size":5,"filters":[{"regex":"hello","replace":"HELLO"}]})", {"hel", "lo world"}) ==
        "HELLO");
  // Taken, and never applied.
  CHECK(rewritten(R"({"filters":[{"regex":"a","replace":"$x"}]})", {"a"}) == "a");
}

TEST_CASE("response-rewrite decodes compressed bodies before filtering", "[plugins][response-rewrite]") {
  const char* conf = R"({"filters":[{"regex":"hello","replace":"test"}]})";
  const std::string gzip = compressed("hello world\n", 15 + 16);
  CHECK(rewritten(conf, {gzip.substr(0, 7), gzip.substr(7)}, "gzip") == "test world\n");
  CHECK(rewritten(conf, {gzip + gzip}, "gzip") == "test world\nhello world\n");
  CHECK(rewritten(conf, {compressed("hello world\n", 15)}, "deflate") == "test world\n");
  CHECK(rewritten(conf, {compressed("hello world\n", -15)}, "deflate") == "test world\n");
  CHECK(rewritten(conf, {"no deflate at all"}, "deflate").empty());
  CHECK(rewritten(conf, {"hello"}, "zz") == "hello");
  // A bomb ends at the limit.
  const std::string bomb = compressed(std::string(100'000, 'x'), 15 + 16);
  CHECK(rewritten(R"({"max_resp_body_size":1000,"filters":[{"regex":"nope","replace":""}]})", {bomb}, "gzip").size() ==
        1000);
}

TEST_CASE("response-rewrite changes no field when an added line is malformed", "[plugins][response-rewrite]") {
  auto plugin =
      test::configured<ResponseRewrite>(R"({"headers":{"add":["A B:x","C:d"],"set":{"X":"1"},"remove":["Z"]}})");
  REQUIRE(plugin.has_value());
  Kit kit;
  kit.answer(200).answer_header("Z", "1");
  kit.header_filter(*plugin);
  CHECK(kit.sent_down("C").empty());
  CHECK(kit.sent_down("X").empty());
  CHECK(kit.sent_down("Z") == "1|");
}

TEST_CASE("response-rewrite sends decoded base64", "[plugins][response-rewrite]") {
  CHECK(rewritten(R"({"body":"SGVsbG8K","body_base64":true})", {"x"}) == "Hello\n");
}
