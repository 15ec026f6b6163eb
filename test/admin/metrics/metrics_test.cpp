// The metrics listener's answers, without a socket.
#include <catch2/catch.hpp>
#include <optional>

#include "admin/metrics/metrics.hpp"
#include "shm/catalog.hpp"

using namespace sluice;
using namespace sluice::admin;

namespace {

struct Fixture {
  std::unique_ptr<shm::Catalog> catalog = shm::Catalog::create_for_test();
  bool enabled = true;
  Metrics metrics{{"/metrics", [] { return std::string("# HELP x y\n"); }, [this] { return enabled; }}, catalog->workers()};

  http::Response get(const std::string& path, const char* peer = "127.0.0.1", const char* method = "GET") {
    auto request = std::make_shared<http::Request>();
    request->method = method;
    request->target = request->path = path;
    request->peer = *parse_ip(peer);
    std::optional<http::Response> answer;
    metrics.handle(request, [&](http::Response r) { answer = std::move(r); });
    REQUIRE(answer.has_value());
    return *answer;
  }
};

}  // namespace

TEST_CASE("the exposition text is served under its address alone", "[metrics]") {
  Fixture f;
  CHECK(f.get("/metrics").status == 200);
  CHECK(f.get("/metrics").body == "# HELP x y\n");
  CHECK(f.get("/metrics").content_type.starts_with("text/plain"));
  CHECK(f.get("/metrics", "127.0.0.1", "POST").status == 404);
  CHECK(f.get("/other").status == 404);
  f.enabled = false;
  CHECK(f.get("/metrics").body == "{}");
}

TEST_CASE("connection counters are for the machine itself", "[metrics]") {
  Fixture f;
  auto slot = f.catalog->claim_worker(shm::WorkerRole::worker, 1, 0);
  REQUIRE(slot.has_value());
  shm::WorkerStatus& status = f.catalog->workers().status(*slot);
  status.active.store(3);
  status.accepted.store(10);
  status.handled.store(9);
  status.requests.store(20);
  status.reading.store(1);
  status.writing.store(2);
  const auto answer = f.get("/apisix/nginx_status");
  CHECK(answer.status == 200);
  CHECK(answer.body ==
        "Active connections: 3 \nserver accepts handled requests\n 10 9 20 \nReading: 1 Writing: 2 Waiting: 0 \n");
  CHECK(f.get("/apisix/nginx_status", "10.0.0.1").status == 403);
  CHECK(f.get("/apisix/nginx_status", "127.0.1.1").status == 403);
}
