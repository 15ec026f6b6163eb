// Tables with the plugins of this build, and requests against them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "worker/live/tables.hpp"

namespace sluice::live::test {

using conf::Kind;

class Bench {
 public:
  explicit Bench(TablesOptions options = {}, sdk::EnabledPlugins enabled = {}) : tables(options, host, enabled) {
    tables.on_name = [this](std::string_view name, bool needed) {
      if (needed) ++names[std::string(name)];
      else names.erase(std::string(name));
    };
  }

  Change change(Kind kind, std::string id, std::string json) {
    const std::uint64_t index = ++index_;
    auto& created = created_[conf::join_key(kind, id)];
    if (created == 0) created = index;
    // Stored values carry their id; tests leave it out.
    const bool carries = kind == Kind::plugin_config || kind == Kind::global_rule || kind == Kind::consumer_group;
    if (carries && json.find("\"id\"") == std::string::npos && json.size() > 2) json.insert(1, "\"id\":\"" + id + "\",");
    return {kind, std::move(id), false, std::move(json), created, index};
  }
  // Errors as "kind/id: message" lines.
  std::string put(Kind kind, std::string id, std::string json) {
    return apply({change(kind, std::move(id), std::move(json))});
  }
  std::string remove(Kind kind, std::string id) { return apply({Change{kind, std::move(id), true, {}, 0, 0}}); }
  std::string apply(const std::vector<Change>& batch) { return text(tables.apply(batch)); }
  static std::string text(const std::vector<ObjectError>& errors) {
    std::string all;
    for (const auto& e : errors) all += conf::join_key(e.kind, e.id) + ": " + e.message + "\n";
    return all;
  }

  struct Answer {
    sdk::Ref<const CompiledRoute> route;
    std::string id = "none";
    std::string plugins;       // names in order of the chain
    std::uint16_t refused = 0;
    std::uint16_t upstream_status = 0;
    std::string node;          // address of the first pick, or the status
    std::string params;
  };
  Answer get(std::string_view path, std::string_view host = "h.test", std::string_view method = "GET") {
    sdk::RequestContext ctx;
    ctx.method = method;
    ctx.path = path;
    ctx.host = ctx.authority = host;
    ctx.now = monotonic_now();
    ctx.client_text = "127.0.0.1";
    Answer a;
    a.route = tables.match(ctx).route;
    if (!a.route) return a;
    a.id = ctx.route_id;
    for (const auto* member : a.route->chain().members) a.plugins += std::string(member->type->traits.name) + " ";
    a.refused = a.route->refuse_status;
    a.upstream_status = a.route->upstream_status();
    for (const auto& p : ctx.uri_params) a.params += std::string(p.name) + "=" + std::string(p.value) + " ";
    if (const auto& upstream = a.route->upstream()) {
      PickState state;
      const PickResult picked = upstream->pick(state, ctx);
      a.node = picked.node ? picked.node->address : std::to_string(picked.status);
      if (picked.node) upstream->settle(state, *picked.node, {}, ctx.now);
    }
    return a;
  }

  sdk::PluginHost host;
  Tables tables;
  std::map<std::string, int> names;

 private:
  std::uint64_t index_ = 0;
  std::map<std::string, std::uint64_t> created_;
};

inline const std::string kNode1 = R"({"type":"roundrobin","nodes":{"127.0.0.1:1981":1}})";
inline const std::string kNode2 = R"({"type":"roundrobin","nodes":{"127.0.0.1:1982":1}})";

}  // namespace sluice::live::test
