// The real tables behind the bus: what the admin process promises (addresses before the batch that needs them) holds.
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "../live/support.hpp"
#include "worker/live/bus_link.hpp"

using namespace sluice;
using namespace sluice::live;
using live::test::Bench;
using conf::Kind;

namespace {

void put_in_force(TablesTarget& target, std::vector<Change> changes, bool whole = false) {
  target.stage(std::move(changes), whole);
  while (!target.step(TimePoint::max())) {
  }
  CHECK(target.publish().empty());
}

}  // namespace

TEST_CASE("addresses that come before their upstream are in force with it", "[bus][link][names]") {
  Bench bench;
  boost::asio::io_context io;
  TablesTarget target(bench.tables);
  bench.tables.on_name = [&](std::string_view name, bool needed) {
    if (needed) target.give_known(name);
  };
  const auto route = [&](const char* node) {
    return bench.change(Kind::route, "1", std::string(R"({"uri":"/a","upstream":{"nodes":{")") + node + R"(":1}}})");
  };
  const std::vector<IpAddress> one = {*parse_ip("10.0.0.1")}, two = {*parse_ip("10.0.0.2")};
  target.set_addresses("one.test", one);
  put_in_force(target, {route("one.test:80")});
  CHECK(bench.get("/a").node == "10.0.0.1:80");

  // A switch to another name, and back: never a moment without addresses.
  target.set_addresses("two.test", two);
  put_in_force(target, {route("two.test:80")});
  CHECK(bench.get("/a").node == "10.0.0.2:80");
  put_in_force(target, {route("one.test:81")});
  CHECK(bench.get("/a").node == "10.0.0.1:81");

  target.set_addresses("one.test", two);
  CHECK(bench.get("/a").node == "10.0.0.2:81");
}

TEST_CASE("a snapshot sweeps what it does not hold", "[bus][link]") {
  const auto route = [](const char* uri) {
    return std::string(R"({"uri":")") + uri + R"(","upstream":{"nodes":{"127.0.0.1:1":1}}})";
  };
  Bench bench;
  TablesTarget target(bench.tables);
  put_in_force(target, {bench.change(Kind::route, "1", route("/a")), bench.change(Kind::route, "2", route("/b"))},
               true);
  CHECK(bench.get("/a").id == "1");
  put_in_force(target, {bench.change(Kind::route, "2", route("/b")), bench.change(Kind::route, "3", route("/c"))},
               true);
  CHECK(bench.get("/a").id == "none");
  CHECK(bench.get("/b").id == "2");
  CHECK(bench.get("/c").id == "3");
}
