// ns that one plugin adds to a request: all its handlers once, over a request with eight header fields and an answer of
// one chunk. What a request without plugins costs here (making and ending the context) is taken off.
//
//   plugin_bench [NAME]        prints the lowest of kRounds rounds; pin it (taskset) for figures that repeat
//
// Results belong in perf/RESULTS.md with the machine they come from.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "perf/micro/sample_request.hpp"
#include "plugins/sdk/chain.hpp"
#include "plugins/sdk/registry.hpp"

using namespace sluice;
using namespace sluice::sdk;

namespace {

constexpr int kRounds = 15;
constexpr int kRequests = 20'000;

struct Row {
  const char* plugin;
  const char* conf;
};

constexpr Row kRows[] = {
    {"proxy-rewrite", R"({"uri":"/new"})"},
    {"proxy-rewrite", R"J({"regex_uri":["^/a/(.*)","/$1"],"headers":{"set":{"X-A":"$remote_addr"}}})J"},
    {"response-rewrite", R"({"headers":{"set":{"X-A":"1"}}})"},
    {"response-rewrite", R"({"filters":[{"regex":"hello","replace":"bye"}]})"},
    {"redirect", R"({"uri":"/new$uri"})"},
    {"key-auth", "{}"},
    {"basic-auth", "{}"},
    {"jwt-auth", "{}"},
    {"hmac-auth", "{}"},
    {"ip-restriction", R"({"whitelist":["10.0.0.0/8","192.168.0.0/16"]})"},
    {"ua-restriction", R"({"denylist":["bot","spider"]})"},
    {"referer-restriction", R"({"whitelist":["*.a.com"],"bypass_missing":true})"},
    {"uri-blocker", R"({"block_rules":["root.exe","select.+from"]})"},
    {"consumer-restriction", R"({"type":"route_id","blacklist":["9"]})"},
    {"request-id", "{}"},
    {"mocking", R"({"response_example":"hello"})"},
    {"fault-injection", R"({"abort":{"http_status":500,"percentage":0}})"},
    {"echo", R"({"before_body":"a"})"},
    {"cors", "{}"},
    {"csrf", R"({"key":"k"})"},
    {"real-ip", R"({"source":"http_x_real_ip"})"},
    {"client-control", R"({"max_body_size":1000})"},
    {"traffic-label", R"({"rules":[{"match":[["arg_a","==","1"]],"actions":[{"set_headers":{"X-A":"1"}}]}]})"},
    {"public-api", "{}"},
};

struct Nowhere : BodySink {
  void write(std::string_view octets) noexcept override { bytes += octets.size(); }
  std::size_t bytes = 0;
};

double per_request(const PluginInstance* plugin) {
  double best = 1e12;
  Nowhere sink;
  for (int round = 0; round < kRounds; ++round) {
    const TimePoint start = monotonic_now();
    for (int i = 0; i < kRequests; ++i) {
      RequestContext ctx;
      perf::fill_sample(ctx);
      if (plugin == nullptr) continue;
      const void* self = plugin->self.get();
      if (plugin->rewrite) plugin->rewrite(self, ctx);
      if (plugin->access) plugin->access(self, ctx);
      if (plugin->header_filter) plugin->header_filter(self, ctx);
      if (plugin->body_filter) plugin->body_filter(self, ctx, {"hello world\n", true}, sink);
      if (plugin->log) plugin->log(self, ctx);
    }
    best = std::min(best, static_cast<double>((monotonic_now() - start).count()) / kRequests);
  }
  return best;
}

}  // namespace

int main(int count, char** args) {
  const EnabledPlugins enabled;
  const PluginHost host;
  const double empty = per_request(nullptr);
  std::printf("%-22s %8s  configuration\n", "plugin", "ns");
  for (const Row& row : kRows) {
    if (count > 1 && std::string_view(args[1]) != row.plugin) continue;
    auto conf = parse_json(row.conf);
    auto plugin = compile_plugin_conf(enabled, row.plugin, *conf, host, "/apisix/routes/1");
    if (!plugin) {
      std::printf("%-22s %8s  %s\n", row.plugin, "-", plugin.error().reason.c_str());
      continue;
    }
    std::printf("%-22s %8.0f  %s\n", row.plugin, per_request(plugin->get()) - empty, row.conf);
  }
}
