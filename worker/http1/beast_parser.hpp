// What request and response heads share: Beast's parser with string views into the head buffer, Beast's field names
// mapped to ours, and the marks that every field leaves. Included by the two head files only.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstring>
#include <string_view>

#include "plugins/sdk/headers.hpp"
#include "worker/http1/request_head.hpp"

namespace sluice::worker::detail {

namespace http = boost::beast::http;
using Code = boost::beast::error_code;
using sdk::FieldId;

inline std::string_view view(boost::beast::string_view s) noexcept { return {s.data(), s.size()}; }

inline FieldId field_id(http::field f, std::string_view name) noexcept {
  switch (f) {
    case http::field::unknown: return sdk::classify_field(name);
    case http::field::host: return FieldId::host;
    case http::field::connection: return FieldId::connection;
    case http::field::content_length: return FieldId::content_length;
    case http::field::transfer_encoding: return FieldId::transfer_encoding;
    case http::field::te: return FieldId::te;
    case http::field::trailer: return FieldId::trailer;
    case http::field::upgrade: return FieldId::upgrade;
    case http::field::expect: return FieldId::expect;
    case http::field::keep_alive: return FieldId::keep_alive;
    case http::field::proxy_connection: return FieldId::proxy_connection;
    case http::field::forwarded: return FieldId::forwarded;
    case http::field::content_type: return FieldId::content_type;
    case http::field::server: return FieldId::server;
    case http::field::date: return FieldId::date;
    case http::field::cookie: return FieldId::cookie;
    case http::field::user_agent: return FieldId::user_agent;
    case http::field::referer: return FieldId::referer;
    case http::field::via: return FieldId::via;
    case http::field::http2_settings: return FieldId::http2_settings;
    case http::field::max_forwards: return FieldId::max_forwards;
    default: return FieldId::other;
  }
}

// Framing fields as they come by; judged when the head is whole.
struct FramingMarks {
  unsigned lengths = 0;
  unsigned encodings = 0;
  std::string_view length;
  std::string_view encoding;
};

template <bool isRequest>
class HeadParser : public http::basic_parser<isRequest> {
 public:
  HeadParser(std::string_view octets, std::size_t max_fields, sdk::HeaderList& fields) noexcept
      : octets_(octets), max_fields_(max_fields), fields_(fields) {
    fields_.clear();
  }

  FramingMarks framing;
  std::string_view connection[4];  // the first values of Connection; more are a fault of their own
  unsigned connections = 0;
  unsigned hosts = 0;
  std::string_view host, upgrade, expect;
  std::string_view method, target, reason;
  int status_code = 0;
  int version = 11;
  bool odd_names = false;
  bool too_many = false;
  bool folded = false;
  unsigned expects = 0;

 protected:
  using sv = boost::beast::string_view;
  void on_request_impl(http::verb, sv method_text, sv target_text, int v, Code&) override {
    method = view(method_text);
    target = view(target_text);
    version = v;
  }
  void on_response_impl(int status, sv reason_text, int v, Code&) override {
    status_code = status;
    reason = view(reason_text);
    version = v;
  }
  void on_field_impl(http::field f, sv name_text, sv value_text, Code& error) override {
    const std::string_view name = view(name_text);
    const std::string_view value = view(value_text);
    // The value of a folded line is put together in a temporary of Beast's.
    if (value.data() < octets_.data() || value.data() + value.size() > octets_.data() + octets_.size()) {
      folded = true;
      error = http::error::bad_obs_fold;
      return;
    }
    if (fields_.size() >= max_fields_) {
      too_many = true;
      error = http::error::header_limit;
      return;
    }
    const FieldId id = field_id(f, name);
    fields_.add(name, value, id);
    switch (id) {
      case FieldId::host:
        ++hosts;
        host = value;
        break;
      case FieldId::content_length:
        ++framing.lengths;
        framing.length = value;
        break;
      case FieldId::transfer_encoding:
        ++framing.encodings;
        framing.encoding = value;
        break;
      case FieldId::connection:
        if (connections < 4) connection[connections] = value;
        ++connections;
        break;
      case FieldId::upgrade: upgrade = value; break;
      case FieldId::expect:
        ++expects;
        expect = value;
        break;
      case FieldId::other:
        if (f == http::field::unknown && std::memchr(name.data(), '_', name.size()) != nullptr) odd_names = true;
        break;
      default: break;
    }
  }
  void on_header_impl(Code&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, Code&) override {}
  std::size_t on_body_impl(sv, Code&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, sv, Code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, sv, Code&) override { return 0; }
  void on_finish_impl(Code&) override {}

 private:
  std::string_view octets_;
  std::size_t max_fields_;
  sdk::HeaderList& fields_;
};

// What Connection says. Names of other fields are looked at again when fields are dropped.
struct ConnectionMarks {
  bool close = false, keep_alive = false, upgrade = false, names_fields = false;
};
template <class Parser>
ConnectionMarks read_connection(const Parser& parser) noexcept {
  ConnectionMarks marks;
  for (unsigned i = 0; i < parser.connections && i < 4; ++i) {
    for_each_element(parser.connection[i], [&marks](std::string_view token) {
      if (sdk::same_field(token, "close"))
        marks.close = true;
      else if (sdk::same_field(token, "keep-alive"))
        marks.keep_alive = true;
      else if (sdk::same_field(token, "upgrade"))
        marks.upgrade = true;
      else
        marks.names_fields = true;
    });
  }
  if (parser.connections > 4) marks.close = true;  // not worth keeping
  return marks;
}

// True when the octets after `fresh_from` may complete a line, so that another attempt at parsing is worth its cost.
inline bool worth_parsing(std::string_view octets, std::size_t fresh_from) noexcept {
  return fresh_from == 0 || octets.find('\n', fresh_from) != std::string_view::npos;
}

}  // namespace sluice::worker::detail
