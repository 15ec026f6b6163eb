// Chain: the plugins of one route (or of the global rules), flat, one span per phase.
//
// Merge order, `_meta.disable` and `_meta.priority` are settled when the chain is built. A request iterates a span; an
// empty phase is an empty span. A step whose configuration has `_meta.filter` or `_meta.error_response` carries `meta`;
// the others cost one null test.
//
// After authentication the consumer's plugins are merged in by merge_consumer: a new chain in the request's arena, no
// cache per route and consumer.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "plugins/sdk/plugin.hpp"

namespace sluice::sdk {

struct Step {
  RequestFn run;
  const void* self;
  const PluginInstance* instance;
};
struct HeadStep {
  HeadFn run;
  const void* self;
  const PluginInstance* instance;
};
struct BodyStep {
  BodyFn run;
  const void* self;
  const PluginInstance* instance;
};

struct Chain {
  std::span<const Step> rewrite, access, before_proxy;
  std::span<const HeadStep> header_filter, log;
  std::span<const BodyStep> body_filter;
  std::span<const PluginInstance* const> members;    // by priority, highest first
  BodyNeeds needs;                                   // of all members together

  const PluginInstance* find(std::string_view plugin) const noexcept;
};

// A chain that owns its spans and keeps its members alive.
class OwnedChain {
 public:
  OwnedChain() = default;
  // members: each name once; sorted here by priority (highest first, then name). Disabled ones are left out.
  explicit OwnedChain(std::vector<std::shared_ptr<const PluginInstance>> members);
  OwnedChain(OwnedChain&&) noexcept = default;              // the spans point into the vectors: moved with them,
  OwnedChain& operator=(OwnedChain&&) noexcept = default;   // never copied
  const Chain& view() const noexcept { return chain_; }

 private:
  std::vector<std::shared_ptr<const PluginInstance>> owners_;
  std::vector<const PluginInstance*> members_;
  std::vector<Step> rewrite_, access_, before_proxy_;
  std::vector<HeadStep> header_filter_, log_;
  std::vector<BodyStep> body_filter_;
  Chain chain_;
};

// The route's chain with the consumer's plugins over it (same name: the consumer's). `added_rewrite` gets the rewrite
// steps of plugins that only the consumer brought (never authentication plugins). All in the arena of the request.
const Chain* merge_consumer(const Chain& route, std::span<const std::shared_ptr<const PluginInstance>> consumer,
                            Arena& arena, std::span<const Step>& added_rewrite) noexcept;

// `_meta.filter`, evaluated at the plugin's first phase and remembered for the request. A broken expression is true. Nor does
// a plugin run that another one has marked to be skipped.
inline bool passes_filter(const PluginInstance& instance, RequestContext& ctx) noexcept;
bool passes_filter_slow(const PluginInstance& instance, RequestContext& ctx) noexcept;
inline bool passes_filter(const PluginInstance& instance, RequestContext& ctx) noexcept {
  return (!instance.meta.filter && !ctx.skips_plugins()) || passes_filter_slow(instance, ctx);
}

// Runs one step: filter, handler, `_meta.error_response` on a reply with status >= 400. Sets ctx.source on a reply.
Verdict run_step(const Step& step, RequestContext& ctx) noexcept;
void run_heads(std::span<const HeadStep> steps, RequestContext& ctx) noexcept;   // header_filter and log

}  // namespace sluice::sdk
