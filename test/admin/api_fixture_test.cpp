#include "test/admin/api_fixture.hpp"

#include <fstream>
#include <sstream>

namespace sluice::admin::test {

ApiOptions ApiFixture::default_options() {
  ApiOptions o;
  o.keys = std::vector<AdminKey>{{"admin", "the-key", "admin"}, {"reader", "view-key", "viewer"}};
  o.stream_mode = true;
  return o;
}

ApiFixture::ApiFixture(ApiOptions options, const std::string& keyring_key)
    : options_(std::move(options)), keyring_key_(keyring_key) {
  open();
}

void ApiFixture::open() {
  sealer = std::make_unique<Sealer>(Keyring::make({keyring_key_}).value(), options_.encrypt_fields);
  store = make_embedded_store({dir.file("config.db"), loop.poster(), [this] { return now_ms; }});
  keys = std::make_unique<KeyIndex>();
  configuration = std::make_unique<Configuration>(*store, *sealer, &sink);
  configuration->image().observe(keys.get());
  configuration->open().value();
  sdk::PluginHost host;
  host.catalog = catalog.get();
  checker = std::make_unique<Checker>(configuration->image(), *keys, sdk::EnabledPlugins(), host,
                                      std::vector<std::string>{"limit-conn", "mqtt-proxy"});
  api = std::make_unique<Api>(options_, Api::Services{*configuration,
                                                      *checker,
                                                      [this] { return now_ms; },
                                                      [this]() -> Result<void> {
                                                        sink.plugins_changed({});
                                                        return {};
                                                      },
                                                      {}});
}

void ApiFixture::reopen() {
  api.reset();
  checker.reset();
  configuration.reset();
  store.reset();
  open();
}

void ApiFixture::begin(const std::string& method, const std::string& path, const std::string& body,
                       std::optional<http::Response>& answer) {
  auto request = std::make_shared<http::Request>();
  request->method = method;
  request->target = "/apisix/admin" + path;
  const auto mark = request->target.find('?');
  request->path = request->target.substr(0, mark);
  if (mark != std::string::npos) request->query = request->target.substr(mark + 1);
  request->headers = {{"X-API-KEY", "the-key"}};
  request->body = body;
  request->peer = *parse_ip("127.0.0.1");
  api->handle(request, [&answer](http::Response r) { answer = std::move(r); });
}

http::Response ApiFixture::call(const std::string& method, const std::string& target, const std::string& body,
                                std::vector<std::pair<std::string, std::string>> headers) {
  auto request = std::make_shared<http::Request>();
  request->method = method;
  request->target = target;
  const auto mark = target.find('?');
  request->path = target.substr(0, mark);
  if (mark != std::string::npos) request->query = target.substr(mark + 1);
  request->headers = std::move(headers);
  request->body = body;
  request->peer = *parse_ip("127.0.0.1");
  std::optional<http::Response> answer;
  api->handle(request, [&](http::Response r) { answer = std::move(r); });
  loop.run_until([&] { return answer.has_value(); });
  return *answer;
}

std::string ApiFixture::error_of(const http::Response& response) {
  const auto body = parse_json(response.body);
  if (!body) return response.body;
  for (const char* name : {"error_msg", "message"})
    if (const Json* m = find(*body, name)) return std::string(text_of(*m));
  return to_json(*body);
}

std::string ApiFixture::raw_store() const {
  std::string all;
  for (const char* name : {"config.db", "config.db-wal"}) {
    std::ifstream in(dir.file(name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    all += text.str();
  }
  return all;
}

}  // namespace sluice::admin::test
