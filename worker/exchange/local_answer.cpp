// Answers of the gateway's own: a plugin's reply, the stock error pages, /apisix/nginx_status.
#include <charconv>

#include "worker/exchange/exchange.hpp"
#include "shm/worker_table.hpp"

namespace sluice::worker {

using sdk::FieldId;

// Runs the filters over the reply and sends it whole.
Task<void> Exchange::reply(std::uint16_t status, sdk::ResponseSource source) noexcept {
  refresh_clock();
  ctx_.status = status;
  if (ctx_.source == sdk::ResponseSource::none || source == sdk::ResponseSource::proxy) ctx_.source = source;
  std::string_view body = ctx_.reply.body;
  std::string_view type = ctx_.reply.content_type;
  if (!ctx_.reply.has_body && status >= 300 && status != 304) {
    body = error_page(status, ctx_.arena);
    type = "text/html";
  }
  auto& fields = ctx_.response_headers;
  const bool typed = !body.empty() || (status >= 200 && status < 300 && status != 204);  // 200 names a type even when empty
  if (typed && fields.find(FieldId::content_type) == nullptr)
    fields.add("Content-Type", type.empty() ? std::string_view("text/plain") : type, FieldId::content_type);
  if (fields.find(FieldId::server) == nullptr) fields.add("Server", worker_.settings.server, FieldId::server);
  if (ctx_.source != sdk::ResponseSource::upstream) add_upstream_status();
  if (global_ != nullptr)
    run_heads(global_->header_filter, chain_ != nullptr ? chain_->header_filter : std::span<const sdk::HeadStep>());
  bodiless_ = ctx_.method == "HEAD" || ctx_.status == 204 || ctx_.status == 304;
  if (global_ != nullptr && has_body_filters() && ctx_.status != 204 && ctx_.status != 304) {
    filtered_.clear();
    filter_piece(body, true);
    body = filtered_.view();
  }
  // What the client still sends has to be read, or the connection ends here.
  if (!body_.complete()) {
    const bool waits = head_.expects_continue && !continue_sent_ && body_.raw_octets() == 0;
    if (waits || linger_ || (body_.chunked() ? false : body_.stated_length() - body_.received() > Buffer::kLarge))
      keep_open_ = false;
  }
  if (linger_ || worker_.draining) keep_open_ = false;
  client_chunked_ = false;
  client_counts_ = !bodiless_;
  show_length_ = bodiless_ && ctx_.method == "HEAD" && ctx_.status != 204 && ctx_.status != 304;
  client_length_ = body.size();
  if (!compose_answer(ctx_.status, reason_of(ctx_.status))) {
    keep_open_ = false;
    co_return;
  }
  std::string_view head(relay_.data(), relay_size_);
  if (!bodiless_ && !body.empty() && body.size() <= relay_.size() - relay_size_) {
    std::memcpy(relay_.data() + relay_size_, body.data(), body.size());
    head = {relay_.data(), relay_size_ + body.size()};
    ctx_.body_bytes_sent = body.size();
    body = {};
  }
  answered_ = true;
  bool written = co_await write_client(head);
  if (written && !bodiless_ && !body.empty()) {
    written = co_await write_client(body);
    ctx_.body_bytes_sent = body.size();
  }
  whole_ = written;
  if (!written) {
    client_gone_ = true;
    keep_open_ = false;
  }
}

Task<void> Exchange::reply_text(std::uint16_t status, std::string_view body) noexcept {
  ctx_.reply = {body, {}, true};
  co_await reply(status, sdk::ResponseSource::apisix);
}

// Connection counters in the form of nginx's stub status, for this machine only.
bool Exchange::built_in() noexcept {
  if (ctx_.path != "/apisix/nginx_status") return false;
  static const auto kLocal = Cidr::parse("127.0.0.0/24");
  if (!session_.local_socket && !kLocal->contains(session_.peer)) {
    status_ = 403;
    ctx_.reply = {};
    return true;
  }
  shm::WorkerTotals t;
  if (worker_.workers != nullptr) t = worker_.workers->totals();
  const auto number = [this](std::uint64_t n) noexcept {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
    return ctx_.arena.copy({digits, static_cast<std::size_t>(end - digits)});
  };
  status_ = 200;
  ctx_.reply.has_body = true;
  ctx_.reply.body = ctx_.arena.concat(
      {"Active connections: ", number(t.active), " \nserver accepts handled requests\n ", number(t.accepted), " ",
       number(t.handled), " ", number(t.requests), " \nReading: ", number(t.reading), " Writing: ", number(t.writing),
       " Waiting: ", number(t.waiting), " \n"});
  return true;
}

}  // namespace sluice::worker
