// One operation of the request path, N times: what `perf/micro/instructions` counts with callgrind, and what prints heap
// allocations and ns per operation when run by hand.
//
//   operations --list
//   operations NAME [N]        ns (one run, informative) and allocations per operation
//
// `request` and its kind are the whole way of a request over loopback sockets: user instructions alone are counted there.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "perf/micro/loopback_gateway.hpp"
#include "perf/micro/sample_request.hpp"
#include "plugins/sdk/chain.hpp"
#include "plugins/sdk/registry.hpp"
#include "plugins/sdk/template.hpp"
#include "shm/catalog.hpp"
#include "worker/balancer/chash.hpp"
#include "worker/balancer/ewma.hpp"
#include "worker/balancer/least_conn.hpp"
#include "worker/balancer/round_robin.hpp"
#include "worker/http1/request_head.hpp"
#include "worker/http1/response_head.hpp"
#include "worker/live/tables.hpp"

namespace {
std::uint64_t g_allocations = 0;
}

void* operator new(std::size_t bytes) {
  ++g_allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++g_allocations;
  return std::malloc(bytes);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

using namespace sluice;
using namespace sluice::sdk;

namespace {

using Operation = std::function<void(int)>;

constexpr std::string_view kHead =
    "GET /a/b?a=1&c=2 HTTP/1.1\r\nHost: localhost:9080\r\nUser-Agent: bench/1.0 (paired runs)\r\nAccept: */*\r\n"
    "Accept-Encoding: identity\r\nX-Request-Trace: 0123456789abcdef0123456789abcdef\r\n"
    "Cookie: session=abcdefghijklmnopqrstuvwxyz012345\r\n\r\n";
constexpr std::string_view kAnswerHead =
    "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\nContent-Type: text/plain\r\n"
    "Content-Length: 100\r\nConnection: keep-alive\r\n\r\n";

Operation request_head() {
  return [](int) {
    Arena arena;
    HeaderList fields(arena);
    worker::RequestHead head;
    if (worker::parse_request_head(kHead, 0, worker::HeadLimits{}, fields, head) != worker::HeadFault::none) std::abort();
  };
}
Operation response_head() {
  return [](int) {
    Arena arena;
    HeaderList fields(arena);
    worker::ResponseHead head;
    if (worker::parse_response_head(kAnswerHead, 0, 32768, false, fields, head) != worker::ResponseFault::none) std::abort();
  };
}

// Tables with `routes` routes /api/service<i>/*, and a catalogue behind them.
struct Configured {
  explicit Configured(int routes) {
    host.catalog = catalog.get();
    host.worker_slot = static_cast<int>(catalog->claim_worker(shm::WorkerRole::worker, 1, 0).value());
    std::vector<live::Change> batch;
    for (int i = 0; i < routes; ++i) {
      const std::string id = std::to_string(i);
      batch.push_back({conf::Kind::route, id, false,
                       R"({"id":")" + id + R"(","uri":"/api/service)" + id +
                           R"(/*","upstream":{"type":"roundrobin","nodes":{"127.0.0.1:1980":1}}})",
                       static_cast<std::uint64_t>(i) + 1, static_cast<std::uint64_t>(i) + 1});
    }
    if (!tables.apply(batch).empty()) std::abort();
  }
  std::unique_ptr<shm::Catalog> catalog = shm::Catalog::create({}, 8).value();
  PluginHost host;
  live::Tables tables{live::TablesOptions{}, host, EnabledPlugins{}};
};

Operation lookup(std::string path, bool found) {
  auto c = std::make_shared<Configured>(10'000);
  auto ctx = std::make_shared<RequestContext>();
  perf::fill_sample(*ctx);
  auto text = std::make_shared<std::string>(std::move(path));
  ctx->path = *text;
  return [c, ctx, text, found](int) {
    if ((c->tables.match(*ctx).route.get() != nullptr) != found) std::abort();
  };
}

// One plugin's handlers over a request that is made anew each time.
Operation plugin(std::string_view name, std::string_view json) {
  struct State {
    Configured c{0};
    std::shared_ptr<const PluginInstance> instance;
  };
  auto s = std::make_shared<State>();
  auto conf = parse_json(json);
  auto made = compile_plugin_conf(EnabledPlugins{}, name, *conf, s->c.host, "/apisix/routes/1");
  if (!made) std::abort();
  s->instance = *made;
  return [s](int i) {
    RequestContext ctx;
    perf::fill_sample(ctx);
    ctx.now = from_ns(1'000'000'000 + std::int64_t{i} * 1'000'000);
    ctx.started = ctx.now;
    const PluginInstance& p = *s->instance;
    if (p.rewrite) p.rewrite(p.self.get(), ctx);
    if (p.access) p.access(p.self.get(), ctx);
    if (p.header_filter) p.header_filter(p.self.get(), ctx);
    if (p.log) p.log(p.self.get(), ctx);
  };
}

// One update of one of a thousand records.
Operation dictionary() {
  struct Bucket {
    std::uint64_t count = 0;
  };
  auto catalog = std::shared_ptr<shm::Catalog>(shm::Catalog::create({}, 8).value());
  auto keys = std::make_shared<std::vector<std::string>>();
  for (int i = 0; i < 1000; ++i) keys->push_back("10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250));
  return [catalog, keys](int i) {
    shm::Dict<Bucket> dict(catalog->limit_req());
    const std::string& text = (*keys)[static_cast<std::size_t>(i) % keys->size()];
    const shm::OwnerId owner{1};
    dict.update(dict.key(owner, text), owner, text, from_ns(1), [](Bucket& b, bool, shm::RecordMeta& meta) noexcept {
      ++b.count;
      meta.expires = from_ns(1'000'000'000'000);
    });
  };
}

// The phases of a chain of eight plugins that have nothing to say about this request.
Operation chain() {
  auto c = std::make_shared<Configured>(0);
  std::vector<std::shared_ptr<const PluginInstance>> members;
  for (const char* name : {"ip-restriction", "ua-restriction", "referer-restriction", "uri-blocker", "echo", "cors", "proxy-buffering", "csrf"}) {
    const std::string_view n = name;
    const char* json = n == "ip-restriction"        ? R"({"blacklist":["10.9.9.0/24"]})"
                       : n == "ua-restriction"      ? R"({"denylist":["nobody"]})"
                       : n == "referer-restriction" ? R"({"blacklist":["nobody.example"],"bypass_missing":true})"
                       : n == "uri-blocker"         ? R"({"block_rules":["/nothing-like-it"]})"
                       : n == "echo"                ? R"({"before_body":""})"
                       : n == "csrf"                ? R"({"key":"k"})"
                                                    : "{}";
    auto conf = parse_json(json);
    auto made = compile_plugin_conf(EnabledPlugins{}, n, *conf, c->host, "/apisix/routes/1");
    if (!made) std::abort();
    members.push_back(*made);
  }
  auto owned = std::make_shared<OwnedChain>(std::move(members));
  return [c, owned](int) {
    RequestContext ctx;
    perf::fill_sample(ctx);
    const Chain& chain = owned->view();
    for (const auto steps : {chain.rewrite, chain.access, chain.before_proxy})
      for (const Step& step : steps)
        if (run_step(step, ctx).ends_request()) std::abort();
  };
}

Operation context_alone() {
  return [](int) {
    RequestContext ctx;
    perf::fill_sample(ctx);
  };
}

Operation render() {
  auto text = std::make_shared<Template>(Template::compile("${remote_addr}:${http_user_agent ?? none}:$host"));
  return [text](int) {
    RequestContext ctx;
    perf::fill_sample(ctx);
    if (text->expand(ctx).text.empty()) std::abort();
  };
}

Operation picker(std::shared_ptr<balancer::Picker> p) {
  auto ctx = std::make_shared<RequestContext>();
  perf::fill_sample(*ctx);
  return [p, ctx](int i) {
    Arena arena;
    balancer::TriedSet tried;
    tried.prepare(200, arena);
    ctx->now = from_ns(1'000'000'000 + std::int64_t{i} * 10'000);
    std::uint32_t cursor = 0;
    balancer::Walk walk{*ctx, tried, cursor, true};
    const std::uint32_t node = p->pick(walk);
    p->settle(node, {.elapsed_ns = 1'000'000}, ctx->now);
  };
}

std::vector<balancer::Peer> nodes() {
  std::vector<balancer::Peer> all;
  for (int i = 0; i < 200; ++i) all.push_back({"10.0.0." + std::to_string(i) + ":80", 1});
  return all;
}

Operation whole(std::string_view route_more) {
  auto g = std::make_shared<perf::LoopbackGateway>(route_more);
  return [g](int) { g->round_trip(kHead); };
}

struct Named {
  std::string_view name;
  int count;   // iterations that callgrind counts
  std::function<Operation()> make;
};

const std::vector<Named>& operations() {
  static std::shared_ptr<shm::Catalog> catalog = shm::Catalog::create({}, 8).value();
  static const std::vector<Named> kAll = {
      {"request-head", 2000, request_head},
      {"response-head", 2000, response_head},
      {"route-hit", 2000, [] { return lookup("/api/service777/x", true); }},
      {"route-miss", 2000, [] { return lookup("/nothing/like/it", false); }},
      {"template", 2000, render},
      {"context", 2000, context_alone},
      {"dictionary", 4000, dictionary},
      {"chain", 2000, chain},
      {"plugin-limit-req", 2000, [] { return plugin("limit-req", R"({"rate":1000000,"burst":10,"key":"remote_addr"})"); }},
      {"plugin-limit-count", 2000, [] { return plugin("limit-count", R"({"count":1000000000,"time_window":60,"key":"remote_addr"})"); }},
      {"plugin-limit-count-templated", 2000,
       [] { return plugin("limit-count", R"({"rules":[{"count":"${http_count ?? 1000000000}","time_window":60,"key":"${host}:${uri}"}]})"); }},
      {"plugin-limit-conn", 2000, [] { return plugin("limit-conn", R"({"conn":1000,"burst":0,"default_conn_delay":0.1,"key":"remote_addr"})"); }},
      {"plugin-prometheus", 2000, [] { return plugin("prometheus", "{}"); }},
      {"plugin-idle", 2000, [] { return plugin("ip-restriction", R"({"blacklist":["10.9.9.0/24"]})"); }},
      {"pick-roundrobin", 2000, [] { return picker(std::make_shared<balancer::RoundRobin>(nodes(), 1)); }},
      {"pick-ewma", 2000, [] { return picker(std::make_shared<balancer::Ewma>(nodes(), &catalog->ewma(), 1, from_ns(1))); }},
      {"pick-least-conn", 2000,
       [] {
         const auto slot = catalog->claim_worker(shm::WorkerRole::worker, 1, 0).value();
         return picker(std::make_shared<balancer::LeastConn>(nodes(), "/apisix/upstreams/1|0", &catalog->least_conn(),
                                                             static_cast<int>(slot), 1, from_ns(1)));
       }},
      {"request", 400, [] { return whole(""); }},
      {"request-plugins", 400,
       [] {
         return whole(R"("plugins":{"limit-count":{"count":1000000000,"time_window":60,"key":"remote_addr"},"prometheus":{}},)");
       }},
  };
  return kAll;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "--list";
  for (const Named& op : operations()) {
    if (name == "--list") {
      std::printf("%s %d\n", std::string(op.name).c_str(), op.count);
      continue;
    }
    if (op.name != name) continue;
    const Operation run = op.make();
    const int count = argc > 2 ? std::atoi(argv[2]) : op.count * 50;
    for (int i = 0; i < 200; ++i) run(i);   // caches of the process are filled
    const std::uint64_t before = g_allocations;
    const TimePoint start = monotonic_now();
    for (int i = 0; i < count; ++i) run(200 + i);
    const double ns = static_cast<double>((monotonic_now() - start).count());
    if (count > 0)
      std::printf("%s %.0f ns %.3f allocations\n", std::string(name).c_str(), ns / count,
                  static_cast<double>(g_allocations - before) / count);
    return 0;
  }
  return name == "--list" ? 0 : 2;
}
