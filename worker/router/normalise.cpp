#include "worker/router/normalise.hpp"

#include <cstring>

#include "conf/base/text.hpp"

namespace sluice::router {
namespace {

// Nothing to decode, resolve or merge: by far the most requests.
bool is_plain(std::string_view path) noexcept {
  char previous = 0;
  for (const char c : path) {
    if (c == '%' || (previous == '/' && (c == '/' || c == '.'))) return false;
    previous = c;
  }
  return true;
}

// Percent-decodes and resolves in one pass. An octet that was escaped takes part in the structure of the path as the
// plain one would (an escaped slash ends a segment, escaped dots are dots). `out` has room for the raw length.
class Resolver {
 public:
  explicit Resolver(char* out) noexcept : begin_(out), end_(out) {}

  bool put(char c) noexcept {
    if (c == '\0') return false;
    if (c != '/') {
      *end_++ = c;
      return true;
    }
    if (!end_segment(false)) return false;
    return true;
  }
  bool finish() noexcept { return end_segment(true); }
  std::string_view text() const noexcept { return {begin_, static_cast<std::size_t>(end_ - begin_)}; }

 private:
  // The text since the last slash is complete. Invariant: before it, the output ends with a slash or is empty.
  bool end_segment(bool last) noexcept {
    const std::string_view segment(segment_, static_cast<std::size_t>(end_ - segment_));
    if (started_ && segment == ".") {
      end_ = segment_;
    } else if (started_ && segment == "..") {
      if (!climb()) return false;
    } else if (!last && (!started_ || !segment.empty())) {
      *end_++ = '/';
    }
    started_ = true;
    segment_ = end_;
    return true;
  }
  // "/a/" with ".." after it becomes "/".
  bool climb() noexcept {
    char* p = segment_ - 1;  // the slash before the segment
    if (p == begin_) return false;
    while (p[-1] != '/') --p;
    end_ = p;
    return true;
  }

  char* begin_;
  char* end_;
  char* segment_ = begin_;
  bool started_ = false;     // the leading slash has been seen
};

// One octet of the raw path, decoded; -1 for a malformed escape.
int take(std::string_view raw, std::size_t& i) noexcept {
  if (raw[i] != '%') return static_cast<unsigned char>(raw[i++]);
  if (i + 2 >= raw.size()) return -1;
  const int high = text::hex_value(raw[i + 1]), low = text::hex_value(raw[i + 2]);
  if (high < 0 || low < 0) return -1;
  i += 3;
  return high * 16 + low;
}

bool resolve(std::string_view raw, sdk::Arena& arena, std::string_view& out) noexcept {
  if (is_plain(raw)) {
    out = raw;
    return true;
  }
  Resolver resolver(static_cast<char*>(arena.allocate(raw.size() + 1, 1)));
  for (std::size_t i = 0; i < raw.size();) {
    const int c = take(raw, i);
    if (c < 0 || !resolver.put(static_cast<char>(c))) return false;
  }
  if (!resolver.finish()) return false;
  out = resolver.text();
  return true;
}

bool is_escaped_slash(std::string_view raw, std::size_t i) noexcept {
  return raw[i] == '%' && i + 2 < raw.size() && raw[i + 1] == '2' && (raw[i + 2] == 'F' || raw[i + 2] == 'f');
}

bool has_escaped_slash(std::string_view raw) noexcept {
  for (std::size_t i = raw.find('%'); i != std::string_view::npos; i = raw.find('%', i + 1))
    if (is_escaped_slash(raw, i)) return true;
  return false;
}

// The decoded path with escaped slashes kept as %2F, when decoding is all that normalising did; else `path`.
// REQUIRES: raw went through resolve() with `path` as its outcome.
std::string_view keep_escaped_slashes(std::string_view raw, std::string_view path, sdk::Arena& arena) noexcept {
  if (!has_escaped_slash(raw)) return path;
  char* const out = static_cast<char*>(arena.allocate(raw.size(), 1));
  char* p = out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < raw.size();) {
    const bool slash = is_escaped_slash(raw, i);
    const char c = static_cast<char>(take(raw, i));
    if (at >= path.size() || path[at++] != c) return path;
    if (slash) {
      std::memcpy(p, "%2F", 3);
      p += 3;
    } else {
      *p++ = c;
    }
  }
  return at == path.size() ? std::string_view(out, static_cast<std::size_t>(p - out)) : path;
}

bool iequals(std::string_view text, std::string_view lower) noexcept { return text::iequal(text, lower); }

// Drops what follows ';' in each segment. False for paths that would be read differently by a servlet container.
bool strip_parameters(std::string_view path, sdk::Arena& arena, std::string_view& out) noexcept {
  char* const begin = static_cast<char*>(arena.allocate(path.size() + 1, 1));
  char* p = begin;
  while (true) {
    const std::size_t slash = path.find('/');
    const bool last = slash == std::string_view::npos;
    std::string_view segment = path.substr(0, slash);
    const std::size_t semicolon = segment.find(';');
    if (semicolon != std::string_view::npos) {
      segment = segment.substr(0, semicolon);
      if (segment == "." || segment == ".." || (segment.empty() && !last)) return false;
      if (iequals(segment, "%2e") || iequals(segment, "%2e%2e")) return false;
    }
    std::memcpy(p, segment.data(), segment.size());
    p += segment.size();
    if (last) break;
    *p++ = '/';
    path.remove_prefix(slash + 1);
  }
  out = {begin, static_cast<std::size_t>(p - begin)};
  return true;
}

// What a servlet upstream gets: the decoded path with its parameters, octets that may not stand in a request line
// escaped, and the query as it came.
std::string_view servlet_uri(std::string_view path, const NormalTarget& target, sdk::Arena& arena) noexcept {
  static constexpr char kHex[] = "0123456789ABCDEF";
  char* const begin = static_cast<char*>(arena.allocate(path.size() * 3 + target.query.size() + 1, 1));
  char* p = begin;
  for (const char c : path) {
    const auto b = static_cast<unsigned char>(c);
    if (b > 0x20 && b != 0x7f && c != '?' && c != '#') {
      *p++ = c;
      continue;
    }
    *p++ = '%';
    *p++ = kHex[b >> 4];
    *p++ = kHex[b & 15];
  }
  if (target.has_query) {
    *p++ = '?';
    std::memcpy(p, target.query.data(), target.query.size());
    p += target.query.size();
  }
  return {begin, static_cast<std::size_t>(p - begin)};
}

// "http://host/path" -> scheme, authority, and the rest (which may be empty: the path is then "/").
bool split_absolute(std::string_view& raw, NormalTarget& out) noexcept {
  const std::size_t colon = raw.find("://");
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view scheme = raw.substr(0, colon);
  if (!iequals(scheme, "http") && !iequals(scheme, "https")) return false;
  raw.remove_prefix(colon + 3);
  const std::size_t end = raw.find_first_of("/?#");
  out.scheme = scheme;
  out.authority = raw.substr(0, end);
  if (const std::size_t at = out.authority.rfind('@'); at != std::string_view::npos)
    out.authority.remove_prefix(at + 1);
  raw = end == std::string_view::npos ? std::string_view() : raw.substr(end);
  return !out.authority.empty();
}

}  // namespace

bool normalise_target(std::string_view raw, const NormaliseOptions& options, sdk::Arena& arena,
                      NormalTarget& out) noexcept {
  out = {};
  if (raw.empty() || (raw.front() != '/' && !split_absolute(raw, out))) return false;
  raw = raw.substr(0, raw.find('#'));
  if (const std::size_t mark = raw.find('?'); mark != std::string_view::npos) {
    out.has_query = true;
    out.query = raw.substr(mark + 1);
    raw = raw.substr(0, mark);
  }
  if (raw.empty()) raw = "/";
  if (!resolve(raw, arena, out.path)) return false;
  out.match_path = out.path;
  if (options.match_uri_encoded_slash) out.match_path = keep_escaped_slashes(raw, out.path, arena);

  const auto drop_tail = [](std::string_view& path) {
    if (!path.empty() && path.back() == '/') path.remove_suffix(1);
  };
  if (options.delete_uri_tail_slash) {
    drop_tail(out.path);
    drop_tail(out.match_path);
  }
  if (options.normalize_uri_like_servlet && out.path.find(';') != std::string_view::npos) {
    const bool same = out.match_path.data() == out.path.data();
    out.upstream_uri = servlet_uri(out.path, out, arena);
    if (!strip_parameters(out.path, arena, out.path)) return false;
    if (same)
      out.match_path = out.path;
    else if (!strip_parameters(out.match_path, arena, out.match_path))
      return false;
  }
  return true;
}

}  // namespace sluice::router
