// Io: one non-blocking stream descriptor of the reactor.
//
// try_read and try_write never wait. `ready` is what we believe of the socket: edges set it, a short or refused call
// clears it, so that no system call is made to learn what is known. With data and FIN arriving together the socket is
// read to its end in spite of a short read (`hangup` keeps it readable).
//
// The face is the one a TLS session will have: a call may want the other direction (`want_read`, `want_write`).
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace sluice::worker {

class Io;
class Reactor;

// Bits of readiness and of interest.
inline constexpr std::uint8_t kRead = 1;
inline constexpr std::uint8_t kWrite = 2;
inline constexpr std::uint8_t kHangup = 4;  // the peer has closed its sending side, or the connection has failed

// Who is told of a socket's events. The owner may close sockets and end sessions, its own included.
class IoOwner {
 public:
  virtual void on_io(Io& io) noexcept = 0;

 protected:
  ~IoOwner() = default;
};

struct IoResult {
  std::size_t n = 0;        // octets moved
  bool want_read = false;   // come back when readable
  bool want_write = false;  // come back when writable
  bool drained = false;     // nothing more is there now
  bool eof = false;         // the peer has ended its side
  int error = 0;            // errno; 0 when all is well
  bool failed() const noexcept { return error != 0; }
};

// Failure injection for tests: asked before each operation of every Io, may return an errno.
struct IoFault {
  virtual int before(const Io& io, char operation /* r, w, c */) noexcept = 0;

 protected:
  ~IoFault() = default;
};
inline IoFault* io_fault_for_test = nullptr;

class Io {
 public:
  Io() = default;
  Io(const Io&) = delete;
  Io& operator=(const Io&) = delete;
  ~Io() = default;  // REQUIRES: closed

  int fd() const noexcept { return fd_; }
  bool open() const noexcept { return fd_ >= 0; }
  bool readable() const noexcept { return (ready_ & kRead) != 0; }
  bool writable() const noexcept { return (ready_ & kWrite) != 0; }
  bool hangup() const noexcept { return (ready_ & kHangup) != 0; }
  bool failed() const noexcept { return failed_; }  // reset or refused, not an orderly end

  IoResult try_read(char* into, std::size_t n) noexcept;
  IoResult try_write(const char* octets, std::size_t n) noexcept;
  IoResult try_write(const iovec* parts, int count) noexcept;
  // True when nothing is waiting to be read and the peer has not closed (asks the kernel).
  bool quiet() noexcept;
  void shutdown_write() noexcept;

  IoOwner* owner = nullptr;
  std::uint8_t interest = 0;  // what wakes the owner's fiber

 private:
  friend class Reactor;
  template <class Call>
  IoResult write_with(std::size_t n, Call&& call) noexcept;
  void note_error(int error) noexcept;
  int fd_ = -1;
  std::uint8_t ready_ = 0;
  std::uint8_t fresh_ = 0;  // edges of the batch in hand
  bool failed_ = false;
};

}  // namespace sluice::worker
