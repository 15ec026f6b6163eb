// A node's answer on its way to the client: fields, header_filter, framing, body, and what becomes of both connections.
#include <charconv>

#include "worker/exchange/exchange.hpp"
#include "worker/http1/head_writer.hpp"

namespace sluice::worker {

using sdk::Field;
using sdk::FieldId;

// End-to-end fields of the node, after what plugins have set already. Framing is written when the head is composed.
void Exchange::take_answer_fields() noexcept {
  std::string_view named[4];
  std::size_t named_count = 0;
  if (answer_.names_fields) {
    for (const Field& f : upstream_fields_)
      if (f.id == FieldId::connection && named_count < 4) named[named_count++] = f.value;
  }
  for (const Field& f : upstream_fields_) {
    switch (f.id) {
      case FieldId::connection:
      case FieldId::keep_alive:
      case FieldId::proxy_connection:
      case FieldId::te:
      case FieldId::trailer:
      case FieldId::transfer_encoding:
      case FieldId::server: continue;
      case FieldId::upgrade:
        if (answer_.status != 101 && answer_.status != 426) continue;
        break;
      case FieldId::other: {
        bool dropped = false;
        for (std::size_t i = 0; i < named_count; ++i) dropped = dropped || list_has(named[i], f.name);
        if (dropped) continue;
        break;
      }
      default: break;
    }
    ctx_.response_headers.add(f.name, f.value, f.id);
  }
}

// "502, 200": every attempt's status, when the last one is 5xx or when it is to be shown always.
void Exchange::add_upstream_status() noexcept {
  if (ctx_.attempt_count == 0) return;
  const std::uint16_t last = attempt_record().status;
  if (!worker_.settings.show_upstream_status && (last < 500 || last > 599)) return;
  const std::size_t kept = std::min<std::size_t>(ctx_.attempt_count, sdk::RequestContext::kMaxAttemptsKept);
  auto text = ctx_.arena.array<char>(kept * 7);
  char* at = text.data();
  for (std::size_t i = 0; i < kept; ++i) {
    if (i != 0) {
      *at++ = ',';
      *at++ = ' ';
    }
    at = std::to_chars(at, text.data() + text.size(), ctx_.attempts[i].status).ptr;
  }
  ctx_.response_headers.add("X-APISIX-Upstream-Status",
                            {text.data(), static_cast<std::size_t>(at - text.data())}, FieldId::other);
}

bool Exchange::has_body_filters() const noexcept {
  return !global_->body_filter.empty() || (chain_ != nullptr && !chain_->body_filter.empty());
}

// How the client learns where the body ends. A length is promised only when nobody can change it any more.
void Exchange::choose_framing() noexcept {
  const std::uint16_t status = ctx_.status;
  bodiless_ = ctx_.method == "HEAD" || status == 204 || status == 304 || status < 200;
  filters_ = !bodiless_ && has_body_filters();
  const bool alters = global_->needs.alters_length || (chain_ != nullptr && chain_->needs.alters_length);
  const bool altered = ctx_.response_body_replaced || (filters_ && alters);
  client_counts_ = client_chunked_ = show_length_ = false;
  if (bodiless_) {
    show_length_ = answer_.has_length && !altered && status >= 200 && status != 204 && answer_.status == status;
    client_length_ = answer_.stated_length;
    return;
  }
  const bool known = answer_.framing == BodyFraming::none || answer_.framing == BodyFraming::length;
  if (known && !altered) {
    client_counts_ = true;
    client_length_ = answer_.framing == BodyFraming::none ? 0 : answer_.length;
  } else if (ctx_.version_minor == 1) {
    client_chunked_ = true;
  } else {
    keep_open_ = false;
  }
}

void Exchange::settle_answer(bool whole) noexcept {
  refresh_clock();
  sdk::Attempt& a = attempt_record();
  a.response_ns = (ctx_.now - attempt_start_).count();
  a.bytes_sent = request_sent_;
  settle_node(!whole && !client_gone_, client_gone_);
}

Task<void> Exchange::answer() noexcept {
  body_.stop_keeping();
  sdk::Attempt& a = attempt_record();
  a.status = answer_.status;
  a.header_ns = (ctx_.now - attempt_start_).count();
  ctx_.status = answer_.status;
  ctx_.source = sdk::ResponseSource::upstream;
  ctx_.upstream_headers = &upstream_fields_;
  take_answer_fields();
  ctx_.response_headers.add("Server", worker_.settings.server, FieldId::server);
  add_upstream_status();
  run_heads(global_->header_filter, chain_ != nullptr ? chain_->header_filter : std::span<const sdk::HeadStep>());
  answer_left_ = answer_.length;
  answer_chunks_.reset();
  const bool all_sent = out_sent_ == out_size_ && body_.all_sent() && (!as_chunks_ || end_sent_);
  if (!body_.complete() && body_.raw_octets() == 0 && head_.expects_continue && !continue_sent_) keep_open_ = false;
  if (worker_.draining) keep_open_ = false;

  choose_framing();
  const bool gather_first =
      filters_ && (global_->needs.whole_response || (chain_ != nullptr && chain_->needs.whole_response));
  if (gather_first) {
    const std::size_t most =
        std::max(global_->needs.whole_response ? global_->needs.whole_response_max : 0,
                 chain_ != nullptr && chain_->needs.whole_response ? chain_->needs.whole_response_max : 0);
    flow_ = co_await gather(most == 0 ? std::size_t{16} << 20 : most);
    if (flow_ == Flow::cut) {
      release_upstream(false);
      settle_answer(false);
      ctx_.response_headers.clear();
      if (client_gone_)
        ctx_.status = 499;
      else
        co_await reply(502, sdk::ResponseSource::proxy);
      co_return;
    }
  }
  const std::string_view reason = answer_.status == ctx_.status ? answer_.reason : reason_of(ctx_.status);
  bool whole = compose_answer(ctx_.status, reason);
  if (!whole) {  // a head beyond all measure
    release_upstream(false);
    settle_answer(false);
    keep_open_ = false;
    co_return;
  }
  if (answer_.status == 101) {
    co_await tunnel();
    settle_answer(true);
    co_return;
  }
  whole = co_await relay();
  whole_ = whole;
  const bool sent_all = all_sent || (out_sent_ == out_size_ && body_.all_sent() && (!as_chunks_ || end_sent_));
  const bool read_all = flow_ == Flow::done && answer_.framing != BodyFraming::until_close;
  release_upstream(read_all && sent_all && !answer_.close && !dirty_ && whole);
  settle_answer(whole || flow_ == Flow::done);
  if (!whole) {
    if (flow_ == Flow::cut) {
      worker_.count(Refusal::cut_answer);
      tell_of_node("cut its answer short");
    }
    keep_open_ = false;
    reset_client_ = !client_gone_ && !client_counts_ && !client_chunked_;
  }
}

}  // namespace sluice::worker
