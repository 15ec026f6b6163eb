#include "worker/io/io.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace sluice::worker {

void Io::note_error(int) noexcept {
  failed_ = true;
  ready_ |= kHangup;
}

IoResult Io::try_read(char* into, std::size_t n) noexcept {
  IoResult out;
  if (io_fault_for_test != nullptr) [[unlikely]] {
    if (const int e = io_fault_for_test->before(*this, 'r')) {
      out.error = e;
      return out;
    }
  }
  while (true) {
    const ssize_t got = ::recv(fd_, into, n, 0);
    if (got > 0) {
      out.n = static_cast<std::size_t>(got);
      if (out.n < n && !hangup()) {
        ready_ &= static_cast<std::uint8_t>(~kRead);
        out.drained = true;
      }
      return out;
    }
    if (got == 0) {
      out.eof = true;
      return out;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      ready_ &= static_cast<std::uint8_t>(~kRead);
      out.want_read = true;
      out.drained = true;
      return out;
    }
    out.error = errno;
    note_error(errno);
    return out;
  }
}

// One call that sends at most n octets, and what its outcome says of the socket.
template <class Call>
IoResult Io::write_with(std::size_t n, Call&& call) noexcept {
  IoResult out;
  if (io_fault_for_test != nullptr) [[unlikely]] {
    if (const int e = io_fault_for_test->before(*this, 'w')) {
      out.error = e;
      return out;
    }
  }
  while (true) {
    const ssize_t sent = call();
    if (sent >= 0) {
      out.n = static_cast<std::size_t>(sent);
      if (out.n < n) {
        ready_ &= static_cast<std::uint8_t>(~kWrite);
        out.want_write = true;
      }
      return out;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      ready_ &= static_cast<std::uint8_t>(~kWrite);
      out.want_write = true;
      return out;
    }
    out.error = errno;
    note_error(errno);
    return out;
  }
}

IoResult Io::try_write(const char* octets, std::size_t n) noexcept {
  return write_with(n, [&] { return ::send(fd_, octets, n, MSG_NOSIGNAL); });
}

IoResult Io::try_write(const iovec* parts, int count) noexcept {
  std::size_t n = 0;
  for (int i = 0; i < count; ++i) n += parts[i].iov_len;
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<std::size_t>(count);
  return write_with(n, [&] { return ::sendmsg(fd_, &message, MSG_NOSIGNAL); });
}

bool Io::quiet() noexcept {
  char octet;
  const ssize_t got = ::recv(fd_, &octet, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

void Io::shutdown_write() noexcept { ::shutdown(fd_, SHUT_WR); }

}  // namespace sluice::worker
