// The head that goes to a node: always HTTP/1.1, always in strict form, hop-by-hop fields of the client left behind.
#include <charconv>
#include <cstring>

#include "worker/exchange/exchange.hpp"
#include "worker/http1/head_writer.hpp"

namespace sluice::worker {

using sdk::Field;
using sdk::FieldId;

namespace {

// Written by the gateway itself, or ending here.
bool left_out(const Field& f) noexcept {
  switch (f.id) {
    case FieldId::host:
    case FieldId::connection:
    case FieldId::keep_alive:
    case FieldId::proxy_connection:
    case FieldId::te:
    case FieldId::trailer:
    case FieldId::upgrade:
    case FieldId::expect:
    case FieldId::http2_settings:
    case FieldId::content_length:
    case FieldId::transfer_encoding:
    case FieldId::x_real_ip:
    case FieldId::x_forwarded_for: return true;
    default: return false;
  }
}

}  // namespace

std::string_view Exchange::host_to_send() noexcept {
  const live::Upstream& upstream = *upstream_;
  switch (upstream.pass_host()) {
    case live::PassHost::rewrite: return upstream.upstream_host();
    case live::PassHost::node: {
      const bool standard = node_->port == 0 || (node_->port == 80 && ctx_.upstream_scheme == "http") ||
                            (node_->port == 443 && ctx_.upstream_scheme == "https");
      if (standard) return node_->host;
      char digits[8];
      const auto end = std::to_chars(digits, digits + sizeof digits, node_->port).ptr;
      return ctx_.arena.concat({node_->host, ":", {digits, static_cast<std::size_t>(end - digits)}});
    }
    case live::PassHost::pass: break;
  }
  if (!ctx_.upstream_host.empty()) return ctx_.upstream_host;
  return ctx_.authority.empty() ? std::string_view(node_->address) : ctx_.authority;
}

bool Exchange::compose_request() noexcept {
  const std::string_view host = host_to_send();
  ctx_.upstream_host = host;
  const std::string_view method = ctx_.upstream_method.empty() ? ctx_.method : ctx_.upstream_method;
  const std::string_view target = ctx_.upstream_uri.empty() ? head_.path_query : ctx_.upstream_uri;
  const Field* chain = ctx_.request_headers.find(FieldId::x_forwarded_for);
  std::size_t size = method.size() + target.size() + host.size() + 256 + 2 * ctx_.client_text.size() +
                     head_.upgrade.size() + worker_.process.hostname.size();
  for (const Field& f : ctx_.request_headers) size += f.name.size() + f.value.size() + 4;
  if (size > Buffer::kHuge) return false;
  if (out_.size() < size) out_ = Buffer(size < Buffer::kSmall ? Buffer::kSmall : size);

  HeadWriter w(out_.data(), out_.size());
  w.text(method);
  w.text(" ");
  w.text(target);
  w.text(" HTTP/1.1\r\n");
  w.field("Host", host);
  w.field("X-Real-IP", ctx_.client_text);
  for (const Field& f : ctx_.request_headers)
    if (!left_out(f)) w.field(f.name, f.value);
  if (chain != nullptr) {
    w.text("X-Forwarded-For: ");
    for (const Field& f : ctx_.request_headers) {
      if (f.id != FieldId::x_forwarded_for || f.value.empty()) continue;
      w.text(f.value);
      w.text(", ");
    }
    w.text(ctx_.client_text);
    w.text("\r\n");
  } else {
    w.field("X-Forwarded-For", ctx_.client_text);
  }
  as_chunks_ = false;
  if (body_.exists()) {
    // A body that is all here goes with its length, unless it has trailers.
    if (body_.complete() && !body_.has_trailers()) {
      w.text("Content-Length: ");
      w.number(body_.received());
      w.text("\r\n");
    } else if (!body_.chunked()) {
      w.text("Content-Length: ");
      w.number(body_.stated_length());
      w.text("\r\n");
    } else {
      w.text("Transfer-Encoding: chunked\r\n");
      as_chunks_ = true;
    }
  } else if (const Field* f = ctx_.request_headers.find(FieldId::content_length); f != nullptr) {
    w.text("Content-Length: 0\r\n");
  }
  if (worker_.settings.via) {
    w.text("Via: 1.");
    w.number(static_cast<std::uint64_t>(ctx_.version_minor));
    w.text(" ");
    w.text(worker_.process.hostname);
    w.text("\r\n");
  }
  asked_upgrade_ = head_.wants_upgrade && route_->enable_websocket && !list_has(head_.upgrade, "h2c");
  if (asked_upgrade_) {
    w.field("Connection", "upgrade");
    w.field("Upgrade", head_.upgrade);
  }
  w.text("\r\n");
  if (!w.fits()) return false;
  out_size_ = w.size();
  out_sent_ = 0;
  frame_ = Frame{};
  end_sent_ = false;
  return true;
}

// Small bodies leave together with the head: one call instead of two.
void Exchange::take_body_at_hand() noexcept {
  if (as_chunks_ || body_.pending().empty()) return;
  const std::string_view octets = body_.pending();
  if (octets.size() > out_.size() - out_size_) return;
  std::memcpy(out_.data() + out_size_, octets.data(), octets.size());
  out_size_ += octets.size();
  body_.sent(octets.size());
}

}  // namespace sluice::worker
