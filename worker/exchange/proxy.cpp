// Attempts: which node, on which connection, and whether another one may be made.
//
// A request is sent again only when nothing can have been done twice: it never reached a node (no octet of it was taken
// by a socket), or its method is idempotent and its body can be sent from the start. A connection from the pool that
// turns out to be dead is not an attempt: the same node gets a fresh one.
#include "conf/base/log.hpp"
#include "worker/exchange/exchange.hpp"

namespace sluice::worker {

namespace {

constexpr int kLinesPerSecond = 10;   // of each worker: a dead node must not fill the disk

std::string_view told(bool timed_out, bool malformed, bool sent) noexcept {
  return timed_out ? "timed out" : malformed ? "sent a malformed answer" : sent ? "ended the connection without an answer"
                                                                                : "takes no connection";
}

}  // namespace

// Without the query, which may hold secrets.
void Exchange::tell_of_node(std::string_view what) noexcept {
  static thread_local log::Pace pace(kLinesPerSecond);
  if (!log::enabled(log::Level::error) || !pace.admit(ctx_.now)) return;
  const std::string_view target = head_.target.substr(0, head_.target.find('?'));
  log::error(ctx_.arena.concat({"upstream ", attempt_record().address, " ", what, ", client ", ctx_.client_text, ", request \"",
                                ctx_.method, " ", target, "\", route ", ctx_.route_id}));
}

sdk::Attempt& Exchange::attempt_record() noexcept {
  return ctx_.attempts[std::min<std::size_t>(ctx_.attempt_count, sdk::RequestContext::kMaxAttemptsKept) - 1];
}

void Exchange::begin_attempt() noexcept {
  ++ctx_.attempt_count;
  sdk::Attempt& a = attempt_record();
  a = sdk::Attempt{};
  a.address = node_->address;
  a.ip = node_->ip;
  a.host = node_->host;
  a.port = node_->port;
  attempt_start_ = worker_.reactor.now();
  request_sent_ = 0;
}

void Exchange::settle_node(bool failed, bool ignored) noexcept {
  if (node_ == nullptr) return;
  const TimePoint now = worker_.reactor.now();
  live::Outcome outcome;
  outcome.failed = failed;
  outcome.ignored = ignored;
  outcome.elapsed_ns = (now - attempt_start_).count();
  upstream_->settle(pick_, *std::exchange(node_, nullptr), outcome, now);
}

void Exchange::end_attempt(Asked how) noexcept {
  sdk::Attempt& a = attempt_record();
  const bool ignored = how == Asked::client_gone || how == Asked::cancelled || how == Asked::body_malformed ||
                       how == Asked::body_too_large || how == Asked::body_timeout;
  a.failed = true;
  a.status = how == Asked::timed_out ? 504 : ignored ? 0 : 502;
  a.bytes_sent = request_sent_;
  a.response_ns = (worker_.reactor.now() - attempt_start_).count();
  if (how == Asked::malformed) worker_.count(Refusal::bad_answer);
  if (!ignored) tell_of_node(told(how == Asked::timed_out, how == Asked::malformed, request_sent_ != 0));
  settle_node(true, ignored);
}

void Exchange::release_upstream(bool reusable) noexcept {
  UpstreamConnection* const c = std::exchange(upstream_connection_, nullptr);
  if (c == nullptr) return;
  if (reusable && !worker_.stopping)
    worker_.pool.put(*c, upstream_->keepalive());
  else
    worker_.pool.discard(*c);
}

bool Exchange::may_retry(Asked how) const noexcept {
  if (how != Asked::failed && how != Asked::send_failed_clean && how != Asked::timed_out) return false;
  if (answered_ || !body_.replayable()) return false;
  if (request_sent_ == 0) return true;
  return idempotent(ctx_.upstream_method.empty() ? ctx_.method : ctx_.upstream_method);
}

Task<Exchange::Asked> Exchange::attempt() noexcept {
  Reactor& reactor = worker_.reactor;
  upstream_connection_ = worker_.pool.take(*node_);
  while (true) {
    if (upstream_connection_ == nullptr) {
      const nanoseconds patience = route_->timeouts().connect;
      const ConnectResult made =
          co_await connect(session_.fiber, *node_, patience, session_.client, upstream_connection_);
      if (made == ConnectResult::timed_out) co_return Asked::timed_out;
      if (made == ConnectResult::refused) co_return Asked::send_failed_clean;
      if (made == ConnectResult::cancelled) co_return session_.fiber.cancelled() ? Asked::cancelled : Asked::client_gone;
    } else {
      upstream_connection_->io.owner = &session_.fiber;
    }
    attempt_record().connect_ns = (reactor.now() - attempt_start_).count();
    ++upstream_connection_->requests;
    request_sent_ = 0;
    const Asked how = co_await ask();
    if (how == Asked::answered) co_return how;
    const bool stale = upstream_connection_->reused && in_size_ == 0 &&
                       (how == Asked::failed || how == Asked::send_failed_clean) && may_retry(how);
    release_upstream(false);
    if (!stale) co_return how;
    body_.rewind();
  }
}

Task<void> Exchange::proxy() noexcept {
  upstream_ = route_->upstream();
  if (!upstream_) {
    const std::uint16_t status = route_->upstream_status();
    co_await reply(status, sdk::ResponseSource::apisix);
    co_return;
  }
  ctx_.upstream_scheme = upstream_->scheme();
  if (ctx_.upstream_scheme != "http") {
    log::error("upstream scheme is not supported in this build");
    co_await reply(502, sdk::ResponseSource::apisix);
    co_return;
  }
  if (worker_.upstream_used != nullptr) worker_.upstream_used(worker_.upstream_used_argument, *upstream_);

  const bool edits = !global_->before_proxy.empty() || (chain_ != nullptr && !chain_->before_proxy.empty());
  const sdk::HeaderList fields = edits ? ctx_.request_headers.clone() : ctx_.request_headers;
  const std::string_view uri = ctx_.upstream_uri, host = ctx_.upstream_host, method = ctx_.upstream_method;
  const TimePoint first = worker_.reactor.now();
  std::uint32_t attempts = 0;
  Asked how = Asked::failed;
  while (true) {
    const live::PickResult picked = upstream_->pick(pick_, ctx_);
    if (picked.node == nullptr) {
      if (attempts == 0) log::error(picked.reason);
      const std::uint16_t status = attempts == 0 ? picked.status : std::uint16_t{502};
      co_await reply(status, attempts == 0 ? sdk::ResponseSource::apisix : sdk::ResponseSource::proxy);
      co_return;
    }
    node_ = picked.node;
    ++attempts;
    begin_attempt();
    if (edits) {
      ctx_.request_headers = fields.clone();
      bool ended = false;
      for (const sdk::Chain* chain : {global_, chain_}) {
        if (chain == nullptr || ended) continue;
        Steps steps{chain->before_proxy, chain == global_};
        const sdk::Verdict verdict = advance(steps);
        if (verdict.kind != sdk::Verdict::Kind::proceed) ended = co_await follow(verdict, steps);
      }
      if (ended) {
        settle_node(false, true);
        --ctx_.attempt_count;
        co_await reply(status_, sdk::ResponseSource::apisix);
        co_return;
      }
    }
    how = co_await attempt();
    refresh_clock();
    if (how == Asked::answered) {
      co_await answer();
      co_return;
    }
    end_attempt(how);
    if (!may_retry(how) || attempts >= upstream_->attempts(pick_)) break;
    if (upstream_->retry_timeout().count() > 0 && ctx_.now - first >= upstream_->retry_timeout()) {
      how = Asked::failed;
      break;
    }
    body_.rewind();
    ctx_.upstream_uri = uri;
    ctx_.upstream_host = host;
    ctx_.upstream_method = method;
  }
  switch (how) {
    case Asked::timed_out: co_await reply(504, sdk::ResponseSource::proxy); break;
    case Asked::body_malformed:
      worker_.count(Refusal::bad_body);
      linger_ = true;
      co_await reply(400, sdk::ResponseSource::proxy);
      break;
    case Asked::body_too_large:
      worker_.count(Refusal::body_too_large);
      linger_ = true;
      co_await reply(413, sdk::ResponseSource::proxy);
      break;
    case Asked::body_timeout:
      worker_.count(Refusal::body_timeout);
      linger_ = true;
      co_await reply(408, sdk::ResponseSource::proxy);
      break;
    case Asked::client_gone:
    case Asked::cancelled:
      client_gone_ = true;
      ctx_.status = 499;
      break;
    default: co_await reply(502, sdk::ResponseSource::proxy); break;
  }
}

}  // namespace sluice::worker
