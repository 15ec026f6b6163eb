#include "worker/outbox/access_log.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "conf/base/log.hpp"
#include "conf/base/log_file.hpp"
#include "conf/base/text.hpp"
#include "plugins/sdk/request_context.hpp"

namespace sluice::worker {

namespace {

constexpr std::size_t kMinBuffer = 4096;
constexpr std::size_t kMaxLine = 65536;  // the rest of a line is cut: the buffer is this much larger than asked for

bool name_octet(char c) noexcept {
  return text::is_digit(c) || (text::lower(c) >= 'a' && text::lower(c) <= 'z') || c == '_';
}

constexpr auto kPlain = [] {
  std::array<bool, 256> t{};
  for (std::size_t c = 32; c <= 126; ++c) t[c] = c != '"' && c != '\\';
  return t;
}();

}  // namespace

AccessLog::AccessLog(const Options& options) : path_(options.path), escape_(options.escape) {
  capacity_ = std::max(options.buffer, kMinBuffer);
  buffer_ = std::make_unique<char[]>(capacity_ + kMaxLine);
  compile(options.format);
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const Options& options) {
  std::unique_ptr<AccessLog> made(new AccessLog(options));
  made->fd_ = open_log_file(options.path);
  if (made->fd_ < 0)
    return Error{Errc::io, options.path, std::string("cannot open the access log: ") + std::strerror(errno), {}, false};
  return made;
}

AccessLog::~AccessLog() {
  flush();
  if (fd_ >= 0) ::close(fd_);
}

void AccessLog::compile(std::string_view format) {
  std::string literal;
  while (!format.empty()) {
    if (format.front() != '$' || format.size() == 1) {
      literal.push_back(format.front());
      format.remove_prefix(1);
      continue;
    }
    std::string_view name;
    std::size_t used = 0;
    if (format[1] == '{') {
      const std::size_t close = format.find('}');
      if (close != std::string_view::npos) {
        name = format.substr(2, close - 2);
        used = close + 1;
      }
    } else {
      std::size_t end = 1;
      while (end < format.size() && name_octet(format[end])) ++end;
      name = format.substr(1, end - 1);
      used = end;
    }
    if (name.empty()) {
      literal.push_back('$');
      format.remove_prefix(1);
      continue;
    }
    parts_.push_back(Part{literal, sdk::Variable::compile(name), true});
    literal.clear();
    format.remove_prefix(used);
  }
  literal.push_back('\n');
  parts_.push_back(Part{literal, {}, false});
}

void AccessLog::append(std::string_view octets) noexcept {
  // One line is cut at kMaxLine; its end must still fit.
  const std::size_t room = capacity_ + kMaxLine - size_;
  const std::size_t n = std::min(octets.size(), room > 2 ? room - 2 : 0);
  if (n != 0) std::memcpy(buffer_.get() + size_, octets.data(), n);
  size_ += n;
}

void AccessLog::append_escaped(std::string_view value) noexcept {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::size_t begin = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto b = static_cast<unsigned char>(value[i]);
    if (escape_ == Escape::json ? (b >= 0x20 && b != '"' && b != '\\') : kPlain[b]) continue;
    append(value.substr(begin, i - begin));
    begin = i + 1;
    if (escape_ == Escape::normal) {
      const char coded[4] = {'\\', 'x', kHex[b >> 4], kHex[b & 15]};
      append({coded, 4});
      continue;
    }
    switch (b) {
      case '"': append("\\\""); break;
      case '\\': append("\\\\"); break;
      case '\n': append("\\n"); break;
      case '\r': append("\\r"); break;
      case '\t': append("\\t"); break;
      case '\b': append("\\b"); break;
      case '\f': append("\\f"); break;
      default: {
        const char coded[6] = {'\\', 'u', '0', '0', kHex[b >> 4], kHex[b & 15]};
        append({coded, 6});
      }
    }
  }
  append(value.substr(begin));
}

void AccessLog::render(sdk::RequestContext& ctx) noexcept {
  for (const Part& part : parts_) {
    append(part.literal);
    if (!part.reference) continue;
    const sdk::Value value = part.variable.get(ctx);
    if (!value.exists()) {
      if (escape_ == Escape::normal) append("-");
    } else if (escape_ == Escape::none) {
      append(value.text);
    } else {
      append_escaped(value.text);
    }
  }
  if (size_ != 0 && buffer_[size_ - 1] != '\n') buffer_[size_++] = '\n';
}

void AccessLog::write(sdk::RequestContext& ctx) noexcept {
  if (size_ == 0) oldest_ = ctx.now;
  render(ctx);
  if (size_ >= capacity_) flush();
}

std::string AccessLog::line_for_test(sdk::RequestContext& ctx) noexcept {
  flush();
  render(ctx);
  std::string line(buffer_.get(), size_);
  size_ = 0;
  return line;
}

void AccessLog::flush() noexcept {
  std::size_t at = 0;
  while (at < size_ && fd_ >= 0) {
    const ssize_t n = ::write(fd_, buffer_.get() + at, size_ - at);
    if (n > 0) {
      at += static_cast<std::size_t>(n);
    } else if (n < 0 && errno != EINTR) {
      if (dropped_ == 0) log::error("the access log cannot be written; lines are dropped");
      ++dropped_;
      break;
    }
  }
  size_ = 0;
}

void AccessLog::tick(TimePoint now) noexcept {
  if (size_ != 0 && now - oldest_ >= seconds(3)) flush();
}

bool AccessLog::reopen() noexcept {
  flush();
  const int fd = open_log_file(path_);
  if (fd < 0) return false;
  ::close(fd_);
  fd_ = fd;
  return true;
}

}  // namespace sluice::worker
