#include "worker/exchange/exchange.hpp"

#include <charconv>

#include "conf/base/log.hpp"
#include "shm/worker_table.hpp"
#include "worker/outbox/access_log.hpp"

namespace sluice::worker {

Exchange::Exchange(Session& session) noexcept
    : session_(session), worker_(session.worker), upstream_fields_(ctx_.arena) {
  refresh_clock();
  ctx_.started = ctx_.now;
  ctx_.started_wall = ctx_.wall;
}

Exchange::~Exchange() {
  release_upstream(false);
  settle_node(true, true);
  if (head_read_ && !logged_) log();
}

bool Exchange::skipped_globally(const sdk::PluginInstance& instance) const noexcept {
  const sdk::Traits& traits = instance.type->traits;
  return traits.run_policy == sdk::RunPolicy::prefer_route && chain_ != nullptr && chain_->find(traits.name) != nullptr;
}

void Exchange::run_heads(std::span<const sdk::HeadStep> global, std::span<const sdk::HeadStep> own) noexcept {
  for (const sdk::HeadStep& step : global)
    if (!skipped_globally(*step.instance) && sdk::passes_filter(*step.instance, ctx_)) step.run(step.self, ctx_);
  for (const sdk::HeadStep& step : own)
    if (sdk::passes_filter(*step.instance, ctx_)) step.run(step.self, ctx_);
}

// The fields by which nodes know who is calling; what the client had put there is gone.
void Exchange::identify_consumer() noexcept {
  known_consumer_ = ctx_.consumer.get();
  if (known_consumer_ == nullptr) return;
  auto& fields = ctx_.request_headers;
  fields.remove(sdk::FieldId::x_consumer_username);
  fields.remove(sdk::FieldId::x_credential_identifier);
  fields.remove(sdk::FieldId::x_consumer_custom_id);
  fields.add("X-Consumer-Username", known_consumer_->name, sdk::FieldId::x_consumer_username);
  if (!ctx_.credential_id.empty())
    fields.add("X-Credential-Identifier", ctx_.credential_id, sdk::FieldId::x_credential_identifier);
  if (!known_consumer_->custom_id.empty())
    fields.add("X-Consumer-Custom-ID", known_consumer_->custom_id, sdk::FieldId::x_consumer_custom_id);
}

sdk::Verdict Exchange::advance(Steps& steps) noexcept {
  while (!steps.left.empty()) {
    const sdk::Step& step = steps.left.front();
    steps.left = steps.left.subspan(1);
    if (steps.global && skipped_globally(*step.instance)) continue;
    const sdk::Verdict verdict = sdk::run_step(step, ctx_);
    if (steps.watch_consumer && ctx_.consumer.get() != known_consumer_) identify_consumer();
    if (verdict.kind != sdk::Verdict::Kind::proceed) return verdict;
  }
  return sdk::Verdict::proceed();
}

Task<bool> Exchange::follow(sdk::Verdict verdict, Steps& steps) noexcept {
  while (verdict.kind != sdk::Verdict::Kind::proceed) {
    if (verdict.kind == sdk::Verdict::Kind::pause) {
      const TimePoint until = worker_.reactor.now() + verdict.delay;
      session_.fiber.clear_deadline();
      const Why why = co_await session_.fiber.sleep_until(until, &session_.client);
      refresh_clock();
      if (why != Why::timer) {  // nobody waits for the answer any more
        client_gone_ = true;
        status_ = 499;
        co_return true;
      }
    }
    if (verdict.ends_request()) {
      status_ = verdict.status;
      co_return true;
    }
    verdict = advance(steps);
  }
  co_return false;
}

// A plugin that reads the body gets it before its first phase.
bool Exchange::body_needed_before_rewrite() const noexcept {
  for (const sdk::Chain* chain : {global_, chain_}) {
    if (chain == nullptr || !chain->needs.request_body) continue;
    for (const sdk::PluginInstance* m : chain->members)
      if (m->needs.request_body && m->rewrite != nullptr) return true;
  }
  return false;
}

// The most that any reader in the running chains takes; 0: one of them sets no bound of its own.
std::uint64_t Exchange::body_bound() const noexcept {
  std::uint64_t most = 0;
  for (const sdk::Chain* chain : {global_, chain_}) {
    if (chain == nullptr || !chain->needs.request_body) continue;
    if (chain->needs.request_body_max == 0) return 0;
    most = std::max<std::uint64_t>(most, chain->needs.request_body_max);
  }
  return most;
}

// most: what the readers take at the most; 0: what the node lets variables read.
Task<bool> Exchange::collect_body(std::uint64_t most) noexcept {
  if (ctx_.request_body.has_value() || ctx_.request_body_too_large) co_return true;
  if (most == 0) most = worker_.settings.readable_body;
  while (true) {
    const auto result =
        body_.collect(session_, worker_.settings.spill, worker_.settings.spill_folder.c_str(), most);
    if (result == RequestBody::Fill::over) {
      ctx_.request_body_too_large = true;
      ctx_.request_body_size = std::max(body_.stated_length(), body_.received());
      ctx_.request_bytes = head_.size + body_.raw_octets();
      co_return true;
    }
    std::uint16_t refusal = 0;
    switch (result) {
      case RequestBody::Fill::progress: break;
      case RequestBody::Fill::wait: {
        if (!say_continue()) {
          client_gone_ = true;
          co_return false;
        }
        session_.fiber.set_deadline(worker_.reactor.now() + worker_.settings.body_timeout);
        const Why why = co_await session_.fiber.readable(session_.client);
        refresh_clock();
        if (why == Why::io) continue;
        if (why == Why::cancelled) {
          client_gone_ = true;
          co_return false;
        }
        worker_.count(Refusal::body_timeout);
        refusal = 408;
        break;
      }
      case RequestBody::Fill::malformed:
        worker_.count(Refusal::bad_body);
        refusal = 400;
        break;
      case RequestBody::Fill::too_large:
        worker_.count(Refusal::body_too_large);
        refusal = 413;
        break;
      case RequestBody::Fill::no_space: refusal = 500; break;
      default: client_gone_ = true; co_return false;
    }
    if (refusal == 0) break;
    linger_ = true;
    co_await reply(refusal, sdk::ResponseSource::apisix);
    co_return false;
  }
  ctx_.request_body = body_.whole();
  ctx_.request_body_size = body_.whole().size();
  ctx_.request_bytes = head_.size + body_.raw_octets();
  co_return true;
}

// OPTIONS with Max-Forwards: 0 is for the first recipient; with more, one hop is taken off.
bool Exchange::ends_here() noexcept {
  if (ctx_.method != "OPTIONS") return false;
  const sdk::Field* field = ctx_.request_headers.find(sdk::FieldId::max_forwards);
  std::uint64_t hops = 0;
  if (field == nullptr || !parse_length(field->value, hops)) return false;
  if (hops == 0) {
    ctx_.response_headers.add("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    return true;
  }
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, hops - 1).ptr;
  ctx_.request_headers.set("Max-Forwards", ctx_.arena.copy({digits, static_cast<std::size_t>(end - digits)}));
  return false;
}

// From the normal path to an answer.
Task<void> Exchange::pipeline() noexcept {
  live::Tables& tables = worker_.tables;
  if (tables.routing_needs_body()) {
    const bool there = co_await collect_body(0);
    if (!there) co_return;
  }
  rules_ = tables.global_rules();
  global_ = &rules_->chain.view();
  ctx_.consumers = &tables.consumers();
  route_ = tables.match(ctx_, match_path_).route;
  if (route_) {
    if (route_->refuse_status != 0) {
      log::error(route_->refuse_reason);
      const std::uint16_t status = route_->refuse_status;
      co_await reply(status, sdk::ResponseSource::apisix);
      co_return;
    }
    chain_ = &route_->chain();
  }
  const bool wants_body =
      global_->needs.request_body || (chain_ != nullptr && chain_->needs.request_body);
  if (wants_body && body_needed_before_rewrite()) {
    const bool there = co_await collect_body(body_bound());
    if (!there) co_return;
  }

  // Most routes have few plugins, many none: nothing to run, no body to read and nobody to merge.
  const bool quiet = !wants_body && global_->rewrite.empty() && global_->access.empty() &&
                     (chain_ == nullptr || (chain_->rewrite.empty() && chain_->access.empty()));
  std::span<const sdk::Step> added;
  for (int phase = quiet ? 5 : 0; phase < 5; ++phase) {
    Steps steps;
    switch (phase) {
      case 0: steps = {global_->rewrite, true, true}; break;
      case 1:
        if (chain_ != nullptr) steps = {chain_->rewrite, false, true};
        break;
      case 2: steps = {added, false, false}; break;
      case 3: steps = {global_->access, true, false}; break;
      default:
        if (chain_ != nullptr) steps = {chain_->access, false, false};
        break;
    }
    if (!steps.left.empty()) {
      const sdk::Verdict verdict = advance(steps);
      if (verdict.kind != sdk::Verdict::Kind::proceed) {
        const bool ended = co_await follow(verdict, steps);
        if (ended && client_gone_) co_return;
        if (ended) {
          co_await reply(status_, sdk::ResponseSource::apisix);
          co_return;
        }
      }
    }
    if (phase == 1) {
      if (known_consumer_ != nullptr && chain_ != nullptr) {
        if (known_consumer_->group_missing) {
          log::error("the consumer group of a consumer does not exist");
          co_await reply(503, sdk::ResponseSource::apisix);
          co_return;
        }
        if (!known_consumer_->plugins.empty())
          chain_ = sdk::merge_consumer(*chain_, known_consumer_->plugins, ctx_.arena, added);
      }
      if (ctx_.request_body_limit.has_value() && !body_.limit(*ctx_.request_body_limit)) {
        worker_.count(Refusal::body_too_large);
        linger_ = true;
        co_await reply(413, sdk::ResponseSource::apisix);
        co_return;
      }
      if (global_->needs.request_body || (chain_ != nullptr && chain_->needs.request_body)) {
        const bool there = co_await collect_body(body_bound());
        if (!there) co_return;
      }
    }
  }
  if (!route_) {
    co_await reply_text(404, "{\"error_msg\":\"404 Route Not Found\"}\n");
    co_return;
  }
  co_await proxy();
}

Task<void> Exchange::serve() noexcept {
  head_read_ = true;
  const Settings& settings = worker_.settings;
  keep_open_ = !head_.close && !worker_.draining && session_.requests < settings.keepalive_requests &&
               ctx_.now - session_.opened < settings.keepalive_time;
  session_.consume(head_.size);
  const bool small_enough = body_.begin(head_.framing, head_.length, settings.max_body, settings.replay);
  body_.bound_trailers(settings.trailers);
  learn_facts();
  if (settings.real_ip_header != "proxy_protocol") apply_real_ip();
  sanitise_fields();
  if (!normalise()) {
    worker_.count(Refusal::bad_target);
    co_await reply(400, sdk::ResponseSource::apisix);
  } else if (!small_enough) {
    worker_.count(Refusal::body_too_large);
    linger_ = true;
    co_await reply(413, sdk::ResponseSource::apisix);
  } else if (head_.expects_unknown) {
    keep_open_ = false;
    co_await reply(417, sdk::ResponseSource::apisix);
  } else if (ends_here()) {
    co_await reply(200, sdk::ResponseSource::apisix);
  } else if (built_in()) {
    const std::uint16_t status = status_;
    co_await reply(status, sdk::ResponseSource::apisix);
  } else {
    co_await pipeline();
  }
  if (client_gone_) {
    keep_open_ = false;
    if (ctx_.status == 0) ctx_.status = 499;
  }
  refresh_clock();
  log();
  if (keep_open_ && !body_.complete()) co_await drain_request();
}

// Reads to the end of a small body that nobody wanted, so that the next request can be found.
Task<void> Exchange::drain_request() noexcept {
  session_.fiber.set_deadline(worker_.reactor.now() + seconds(5));
  while (true) {
    const RequestBody::Fill result = body_.discard(session_, Buffer::kLarge);
    if (result == RequestBody::Fill::progress) co_return;
    if (result != RequestBody::Fill::wait) break;
    const Why why = co_await session_.fiber.readable(session_.client);
    if (why != Why::io) break;
  }
  keep_open_ = false;
}

Task<void> Exchange::refuse(std::uint16_t status, std::string_view why) noexcept {
  head_read_ = true;
  linger_ = true;
  keep_open_ = false;
  ctx_.process = &worker_.process;
  ctx_.peer_address = ctx_.client_address = session_.peer;
  ctx_.peer_port = ctx_.client_port = session_.peer_port;
  ctx_.peer_text = ctx_.client_text = session_.peer_text();
  ctx_.server_address_text = session_.server_text();
  ctx_.server_port = session_.server_port;
  ctx_.connection_id = session_.id;
  ctx_.request_headers.clear();
  ctx_.request_bytes = session_.buffered().size();
  if (log::enabled(log::Level::info)) log::info(ctx_.arena.concat({"refused a request from ", ctx_.peer_text, ": ", why}));
  co_await reply(status, sdk::ResponseSource::apisix);
  refresh_clock();
  log();
}

void Exchange::log() noexcept {
  logged_ = true;
  if (body_.exists()) ctx_.request_bytes = head_.size + body_.raw_octets();
  if (global_ != nullptr)
    run_heads(global_->log, chain_ != nullptr ? chain_->log : std::span<const sdk::HeadStep>());
  if (worker_.status != nullptr) shm::WorkerStatus::bump(worker_.status->requests);
  if (worker_.access_log != nullptr) worker_.access_log->write(ctx_);
}

}  // namespace sluice::worker
