// An origin that believes nothing: reads a stream of requests by the letter of RFC 9112 and aborts at the first octet that a
// peer could read otherwise. What the gateway sends on must pass it, whatever came in.
#pragma once

#include <cstdlib>
#include <string_view>

namespace sluice::fuzz {

class StrictReader {
 public:
  // The octets of one connection, from its first on. An incomplete last request is fine.
  static void check_requests(std::string_view stream) {
    StrictReader reader(stream);
    while (reader.request()) {
    }
  }

 private:
  explicit StrictReader(std::string_view stream) : rest_(stream) {}

  static void need(bool holds) {
    if (!holds) std::abort();
  }
  static bool token_octet(char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter || (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
  }
  static bool token(std::string_view text) {
    for (const char c : text)
      if (!token_octet(c)) return false;
    return !text.empty();
  }
  static bool same(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if ((a[i] | 0x20) != (b[i] | 0x20)) return false;
    return true;
  }

  // False: the line is not whole yet. A bare CR or LF is a fault wherever it stands.
  bool line(std::string_view& out) {
    const std::size_t end = rest_.find('\n');
    const std::string_view seen = rest_.substr(0, end);
    const std::size_t cr = seen.find('\r');
    need(cr == std::string_view::npos || cr + 1 == seen.size());
    if (end == std::string_view::npos) return false;
    need(cr != std::string_view::npos);
    out = seen.substr(0, cr);
    rest_.remove_prefix(end + 1);
    return true;
  }

  void field(std::string_view text, bool trailer) {
    const std::size_t colon = text.find(':');
    need(colon != std::string_view::npos && token(text.substr(0, colon)));
    const std::string_view name = text.substr(0, colon);
    std::string_view value = text.substr(colon + 1);
    for (const char c : value) need(c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    const bool framing = same(name, "content-length") || same(name, "transfer-encoding") || same(name, "host");
    if (trailer) return need(!framing);
    if (same(name, "host")) ++hosts_;
    if (same(name, "connection")) upgrade_ = upgrade_ || same(value, "upgrade");
    if (same(name, "transfer-encoding")) {
      need(same(value, "chunked"));
      ++codings_;
    }
    if (same(name, "content-length")) {
      ++lengths_;
      need(!value.empty() && value.size() <= 19);
      length_ = 0;
      for (const char c : value) {
        need(c >= '0' && c <= '9');
        length_ = length_ * 10 + static_cast<std::size_t>(c - '0');
      }
    }
  }

  bool request() {
    hosts_ = lengths_ = codings_ = 0;
    length_ = 0;
    if (upgrade_ || rest_.empty()) return false;   // after an upgrade the octets are the client's own
    std::string_view text;
    if (!line(text)) return false;
    const std::size_t a = text.find(' '), b = text.rfind(' ');
    need(a != std::string_view::npos && b > a + 1 && token(text.substr(0, a)) && text.substr(b + 1) == "HTTP/1.1");
    for (const char c : text.substr(a + 1, b - a - 1)) need(static_cast<unsigned char>(c) > 0x20 && c != 0x7f);
    while (true) {
      if (!line(text)) return false;
      if (text.empty()) break;
      field(text, false);
    }
    need(hosts_ == 1 && lengths_ + codings_ <= 1);
    return codings_ != 0 ? chunks() : fixed();
  }

  bool fixed() {
    if (rest_.size() < length_) return false;
    rest_.remove_prefix(length_);
    return true;
  }

  bool chunks() {
    std::string_view text;
    while (true) {
      if (!line(text)) return false;
      need(!text.empty() && text.size() <= 16);
      std::size_t size = 0;
      for (const char c : text) {
        const char low = static_cast<char>(c | 0x20);
        need((c >= '0' && c <= '9') || (low >= 'a' && low <= 'f'));
        size = size * 16 + static_cast<std::size_t>(c <= '9' ? c - '0' : low - 'a' + 10);
      }
      if (size == 0) break;
      if (rest_.size() < size + 2) return false;
      need(rest_.substr(size, 2) == "\r\n");
      rest_.remove_prefix(size + 2);
    }
    while (true) {
      if (!line(text)) return false;
      if (text.empty()) return true;
      field(text, true);
    }
  }

  std::string_view rest_;
  int hosts_ = 0, lengths_ = 0, codings_ = 0;
  std::size_t length_ = 0;
  bool upgrade_ = false;
};

}  // namespace sluice::fuzz
