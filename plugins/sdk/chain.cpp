// Building chains, merging a consumer's plugins, running steps.
#include "plugins/sdk/chain.hpp"

#include <algorithm>
#include <string>

#include "conf/base/log.hpp"

namespace sluice::sdk {

namespace {

bool before(const PluginInstance* a, const PluginInstance* b) noexcept {
  if (a->priority != b->priority) return a->priority > b->priority;
  return a->type->traits.name < b->type->traits.name;
}

std::string_view name_of(const PluginInstance& instance) noexcept { return instance.type->traits.name; }

// Together: read when one reads; the larger bound wins, and "no bound" is the largest.
std::size_t wider(bool a_set, std::size_t a, bool b_set, std::size_t b) noexcept {
  if (!a_set) return b;
  if (!b_set) return a;
  return a == 0 || b == 0 ? 0 : std::max(a, b);
}

void add_needs(BodyNeeds& all, const BodyNeeds& one) noexcept {
  all.request_body_max = wider(all.request_body, all.request_body_max, one.request_body, one.request_body_max);
  all.whole_response_max = wider(all.whole_response, all.whole_response_max, one.whole_response, one.whole_response_max);
  all.request_body |= one.request_body;
  all.alters_length |= one.alters_length;
  all.whole_response |= one.whole_response;
}

}  // namespace

const PluginInstance* Chain::find(std::string_view plugin) const noexcept {
  for (const PluginInstance* m : members)
    if (name_of(*m) == plugin) return m;
  return nullptr;
}

OwnedChain::OwnedChain(std::vector<std::shared_ptr<const PluginInstance>> members) : owners_(std::move(members)) {
  std::erase_if(owners_, [](const auto& m) { return m == nullptr || m->meta.disable; });
  std::sort(owners_.begin(), owners_.end(), [](const auto& a, const auto& b) { return before(a.get(), b.get()); });
  for (const auto& m : owners_) {
    members_.push_back(m.get());
    const void* self = m->self.get();
    if (m->rewrite) rewrite_.push_back({m->rewrite, self, m.get()});
    if (m->access) access_.push_back({m->access, self, m.get()});
    if (m->before_proxy) before_proxy_.push_back({m->before_proxy, self, m.get()});
    if (m->header_filter) header_filter_.push_back({m->header_filter, self, m.get()});
    if (m->body_filter) body_filter_.push_back({m->body_filter, self, m.get()});
    if (m->log) log_.push_back({m->log, self, m.get()});
    add_needs(chain_.needs, m->needs);
  }
  chain_.rewrite = rewrite_;
  chain_.access = access_;
  chain_.before_proxy = before_proxy_;
  chain_.header_filter = header_filter_;
  chain_.body_filter = body_filter_;
  chain_.log = log_;
  chain_.members = members_;
}

namespace {

template <class S, class Fn>
std::span<const S> steps_of(std::span<const PluginInstance* const> members, Fn PluginInstance::*handler,
                            Arena& arena) noexcept {
  std::size_t n = 0;
  for (const PluginInstance* m : members) n += m->*handler != nullptr ? 1 : 0;
  if (n == 0) return {};
  const auto steps = arena.array<S>(n);
  std::size_t at = 0;
  for (const PluginInstance* m : members)
    if (m->*handler != nullptr) steps[at++] = S{m->*handler, m->self.get(), m};
  return steps;
}

}  // namespace

const Chain* merge_consumer(const Chain& route, std::span<const std::shared_ptr<const PluginInstance>> consumer,
                            Arena& arena, std::span<const Step>& added_rewrite) noexcept {
  added_rewrite = {};
  if (consumer.empty()) return &route;
  const auto replaced = [&](const PluginInstance& m) {
    return std::any_of(consumer.begin(), consumer.end(), [&](const auto& c) { return name_of(*c) == name_of(m); });
  };
  // Both lists are sorted: gather, then put the few of the consumer in their places.
  auto members = arena.array<const PluginInstance*>(route.members.size() + consumer.size());
  auto added = arena.array<const PluginInstance*>(consumer.size());
  std::size_t n = 0, added_count = 0;
  for (const PluginInstance* m : route.members)
    if (!replaced(*m)) members[n++] = m;
  for (const auto& c : consumer) {
    if (c->meta.disable) continue;
    members[n++] = c.get();
    const bool authenticates = c->type->traits.kind == PluginKind::auth;
    if (c->rewrite != nullptr && !authenticates && route.find(name_of(*c)) == nullptr) added[added_count++] = c.get();
  }
  members = members.first(n);
  std::sort(members.begin(), members.end(), before);
  std::sort(added.begin(), added.begin() + static_cast<std::ptrdiff_t>(added_count), before);
  added_rewrite = steps_of<Step>(std::span<const PluginInstance* const>(added.data(), added_count),
                                 &PluginInstance::rewrite, arena);
  Chain* merged = arena.make<Chain>();
  merged->members = members;
  merged->rewrite = steps_of<Step>(members, &PluginInstance::rewrite, arena);
  merged->access = steps_of<Step>(members, &PluginInstance::access, arena);
  merged->before_proxy = steps_of<Step>(members, &PluginInstance::before_proxy, arena);
  merged->header_filter = steps_of<HeadStep>(members, &PluginInstance::header_filter, arena);
  merged->body_filter = steps_of<BodyStep>(members, &PluginInstance::body_filter, arena);
  merged->log = steps_of<HeadStep>(members, &PluginInstance::log, arena);
  for (const PluginInstance* m : members) add_needs(merged->needs, m->needs);
  return merged;
}

bool passes_filter_slow(const PluginInstance& instance, RequestContext& ctx) noexcept {
  constexpr std::uint32_t kTag = 0xf117e4;
  constexpr std::uint64_t kPasses = 1, kFails = 2;
  if (ctx.skips_plugin(name_of(instance))) return false;
  if (!instance.meta.filter) return true;
  std::uint64_t& remembered = ctx.note_or_add(&instance, kTag);
  if (remembered == 0)
    remembered = instance.meta.filter->evaluate(ctx) == Expression::Outcome::no ? kFails : kPasses;
  return remembered == kPasses;
}

namespace {

// Refusals are logged, but a flood of them must not become a flood of writes: ten lines a second and process.
void log_exit(const PluginInstance& instance, std::uint16_t status, TimePoint now) noexcept {
  static thread_local log::Pace pace(10);
  if (!log::enabled(log::Level::warn) || !pace.admit(now)) return;
  char text[128];
  const std::string_view name = name_of(instance);
  const int n = std::snprintf(text, sizeof text, "%.*s exits with http status code %u", static_cast<int>(name.size()),
                              name.data(), static_cast<unsigned>(status));
  log::warn({text, static_cast<std::size_t>(n)});
}

}  // namespace

Verdict run_step(const Step& step, RequestContext& ctx) noexcept {
  if (!passes_filter(*step.instance, ctx)) return Verdict::proceed();
  const Verdict verdict = step.run(step.self, ctx);
  if (!verdict.ends_request()) return verdict;
  ctx.source = ResponseSource::apisix;
  if (verdict.status >= 400) {
    if (const auto& body = step.instance->meta.error_response) ctx.reply = {*body, {}, true};
    log_exit(*step.instance, verdict.status, ctx.now);
  }
  return verdict;
}

void run_heads(std::span<const HeadStep> steps, RequestContext& ctx) noexcept {
  for (const HeadStep& step : steps)
    if (passes_filter(*step.instance, ctx)) step.run(step.self, ctx);
}

}  // namespace sluice::sdk
