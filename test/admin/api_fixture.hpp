// The Admin API with everything behind it but sockets: an embedded store in a temporary file, a bus that only counts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/api/api.hpp"
#include "admin/store/embedded.hpp"
#include "shm/catalog.hpp"
#include "test/admin/support.hpp"

namespace sluice::admin::test {

class CountingSink final : public ChangeSink {
 public:
  void publish(std::uint64_t revision, std::vector<live::Change> batch, Applied done) override {
    last_revision = revision;
    for (live::Change& c : batch) changes.push_back(std::move(c));
    ++batches;
    done(2, 2);
  }
  void plugins_changed(const std::string&) override { ++reloads; }
  std::vector<live::Change> changes;
  std::uint64_t last_revision = 0;
  int batches = 0;
  int reloads = 0;
};

class ApiFixture {
 public:
  explicit ApiFixture(ApiOptions options = default_options(), const std::string& keyring_key = "qeddd145sfvddff3");

  static ApiOptions default_options();

  http::Response call(const std::string& method, const std::string& target, const std::string& body = {},
                      std::vector<std::pair<std::string, std::string>> headers = {{"X-API-KEY", "the-key"}});
  // Below /apisix/admin, with the key. Error messages come as they are, other bodies as JSON text.
  http::Response admin(const std::string& method, const std::string& path, const std::string& body = {}) {
    return call(method, "/apisix/admin" + path, body);
  }
  static std::string error_of(const http::Response& response);
  // Starts a request without waiting for its answer.
  void begin(const std::string& method, const std::string& path, const std::string& body,
             std::optional<http::Response>& answer);
  // Everything anew from the same file, as after a kill.
  void reopen();
  // The raw octets of the store's files.
  std::string raw_store() const;

  TempDir dir;
  Loop loop;
  CountingSink sink;
  std::int64_t now_ms = 1'700'000'000'000;
  std::unique_ptr<shm::Catalog> catalog = shm::Catalog::create_for_test();
  std::unique_ptr<Store> store;
  std::unique_ptr<Sealer> sealer;
  std::unique_ptr<KeyIndex> keys;
  std::unique_ptr<Configuration> configuration;
  std::unique_ptr<Checker> checker;
  std::unique_ptr<Api> api;

 private:
  void open();
  ApiOptions options_;
  std::string keyring_key_;
};

}  // namespace sluice::admin::test
