// Limiters under test: one shared memory, workers that are slots of it, and a clock that the test moves by hand.
//
//   Limited<LimitReq> t;
//   auto plugin = t.make(R"({"rate":1,"burst":0,"key":"remote_addr"})");
//   t.at(400ms);
//   CHECK(t.ask(plugin).status == 503);
#pragma once

#include <chrono>
#include <stdexcept>

#include "shm/catalog.hpp"
#include "test/support/plugin_kit.hpp"

namespace sluice::test {

using namespace std::chrono_literals;

// What a limiter said to one request: status 0 is let through, after `delay`.
struct Said {
  std::uint16_t status = 0;
  nanoseconds delay{0};
  std::string body;                                // "(none)": the stock page, or let through
  std::map<std::string, std::string> fields;       // of the answer
  std::string verdict;                             // $limit_verdict
  std::string info;                                // $rate_limiting_info
  bool passed() const { return status == 0; }
  std::string field(const std::string& name) const {
    const auto at = fields.find(name);
    return at == fields.end() ? "(none)" : at->second;
  }
};

// Of the request; empty members are left as they are.
struct Asking {
  std::string from = {}, target = "/hello", host = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

inline Asking with(std::string name, std::string value) {
  Asking a;
  a.headers.emplace_back(std::move(name), std::move(value));
  return a;
}
inline Asking from(std::string address) {
  Asking a;
  a.from = std::move(address);
  return a;
}

template <class P>
class Limited {
 public:
  Limited() : catalog(shm::Catalog::create_for_test()) {
    host.catalog = catalog.get();
    host.worker_slot = static_cast<int>(catalog->claim_worker(shm::WorkerRole::worker, 1, 0).value());
    host.metadata = [this](std::string_view) -> const Json* { return metadata ? &*metadata : nullptr; };
  }

  // Compiled for the worker in host.worker_slot. Throws what an administrator would be told.
  sdk::PluginInstance make(std::string_view json, const std::string& resource = "/apisix/routes/1",
                           const std::string& version = "1") {
    auto made = configured<P>(json, host, resource, version);
    if (!made) throw std::runtime_error(made.error().reason);
    return std::move(*made);
  }

  // Time since the beginning of the test; both clocks. The wall clock begins at a multiple of every sensible window.
  void at(nanoseconds since) { now = kBegin + since; }
  void pass(nanoseconds time) { now += time; }
  TimePoint mono() const { return TimePoint(now); }
  WallTime wall() const { return WallTime(kWallBegin - kBegin + now); }

  void stamp(Kit& kit) const {
    kit.ctx.now = mono();
    kit.ctx.wall = wall();
  }

  static void describe(Kit& kit, const Asking& asking) {
    if (!asking.from.empty()) kit.from(asking.from);
    if (!asking.host.empty()) kit.host(asking.host);
    for (const auto& [name, value] : asking.headers) kit.header(name, value);
  }

  // The access phase of a request that is then forgotten (no log phase).
  Said ask(const sdk::PluginInstance& plugin, const Asking& asking = {}) const {
    Kit kit(asking.target);
    describe(kit, asking);
    return ask(plugin, kit);
  }
  Said ask(const sdk::PluginInstance& plugin, Kit& kit) const {
    stamp(kit);
    const sdk::Verdict v = kit.access(plugin);
    Said said;
    said.status = v.kind == sdk::Verdict::Kind::reply ? v.status : 0;
    said.delay = v.delay;
    said.body = kit.reply();
    for (const auto& f : kit.ctx.response_headers) said.fields[std::string(f.name)] = std::string(f.value);
    said.verdict = std::string(kit.ctx.limit_verdict);
    said.info = std::string(kit.ctx.rate_limiting_info);
    return said;
  }
  // Statuses of `times` requests at the same instant: "0 0 503".
  std::string statuses(const sdk::PluginInstance& plugin, int times, const Asking& asking = {}) const {
    std::string all;
    for (int i = 0; i < times; ++i) all += (i == 0 ? "" : " ") + std::to_string(ask(plugin, asking).status);
    return all;
  }

  static const P& typed(const sdk::PluginInstance& plugin) { return *static_cast<const P*>(plugin.self.get()); }

  std::unique_ptr<shm::Catalog> catalog;
  sdk::PluginHost host;
  std::optional<JsonDoc> metadata;

 private:
  static constexpr nanoseconds kBegin = 1000s;
  static constexpr nanoseconds kWallBegin = 1'699'999'200s;   // a full hour
  nanoseconds now = kBegin;
};

}  // namespace sluice::test
