// The head of an answer as the client gets it: flat, in strict form, with the framing that was chosen.
#include <cstring>

#include "worker/exchange/exchange.hpp"
#include "worker/http1/head_writer.hpp"

namespace sluice::worker {

using sdk::Field;
using sdk::FieldId;

// "text/html" -> "text/html; charset=utf-8", for the text types, where none is given.
std::string_view Exchange::with_charset(std::string_view type) noexcept {
  const std::string& charset = worker_.settings.charset;
  if (charset.empty() || type.find(';') != std::string_view::npos) return type;
  for (const std::string_view text : {"text/html", "text/plain", "text/xml", "text/vnd.wap.wml", "application/javascript",
                                      "application/rss+xml"})
    if (sdk::same_field(type, text)) return ctx_.arena.concat({type, "; charset=", charset});
  return type;
}

bool Exchange::compose_answer(std::uint16_t status, std::string_view reason) noexcept {
  std::size_t size = reason.size() + 256;
  for (const Field& f : ctx_.response_headers) size += f.name.size() + f.value.size() + 24;
  const std::size_t at_hand = upstream_connection_ != nullptr && in_size_ > answer_.size ? in_size_ - answer_.size : 0;
  if (size + Buffer::kMedium + 64 > Buffer::kHuge) return false;
  // Room for the octets that came with the answer's head, so that both leave in one call.
  const std::size_t wanted = std::max(size + std::min(at_hand, Buffer::kMedium) + 64, Buffer::kSmall);
  if (out_sent_ == out_size_ && out_.size() >= wanted)
    relay_ = std::move(out_);
  else
    relay_ = Buffer(wanted);

  HeadWriter w(relay_.data(), relay_.size());
  w.text("HTTP/1.1 ");
  w.number(status);
  w.text(" ");
  w.text(reason);
  w.text("\r\n");
  bool dated = false;
  for (const Field& f : ctx_.response_headers) {
    switch (f.id) {
      case FieldId::connection:
      case FieldId::keep_alive:
      case FieldId::proxy_connection:
      case FieldId::te:
      case FieldId::content_length:
      case FieldId::transfer_encoding: continue;
      case FieldId::date: dated = true; break;
      case FieldId::content_type: w.field(f.name, with_charset(f.value)); continue;
      default: break;
    }
    w.field(f.name, f.value);
  }
  if (!dated) w.field("Date", http_date(ctx_.wall));
  if (client_counts_ || show_length_) {
    w.text("Content-Length: ");
    w.number(client_length_);
    w.text("\r\n");
  } else if (client_chunked_) {
    w.text("Transfer-Encoding: chunked\r\n");
  }
  if (status == 101)
    w.text("Connection: upgrade\r\n");
  else if (!keep_open_)
    w.text("Connection: close\r\n");
  else if (ctx_.version_minor == 0)
    w.text("Connection: keep-alive\r\n");
  w.text("\r\n");
  relay_size_ = w.size();
  return w.fits();
}

}  // namespace sluice::worker
