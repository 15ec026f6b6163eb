// An origin that costs next to nothing and counts what reaches it, second by second.
//
// counting_origin PORT: listens on every local address, answers each head with three octets (requests have no bodies), and
// on TERM prints one line per second of the monotonic clock in which something came: "second count". One thread, epoll.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace {

constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n";

std::int64_t second_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

int listener(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  if (bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || listen(fd, 4096) != 0) {
    std::perror("counting_origin");
    std::exit(1);
  }
  return fd;
}

// How far into "\r\n\r\n" the input of a connection is.
unsigned heads(std::string_view input, unsigned& matched) {
  unsigned found = 0;
  for (const char c : input) {
    matched = c == "\r\n\r\n"[matched] ? matched + 1 : c == '\r' ? 1 : 0;
    if (matched == 4) {
      ++found;
      matched = 0;
    }
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const int stop = signalfd(-1, &ends, 0);
  const int door = listener(std::atoi(argv[1]));
  const int epoll = epoll_create1(0);
  const auto watch = [&](int fd) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
  };
  watch(door);
  watch(stop);
  std::puts("ready");
  std::fflush(stdout);

  std::map<std::int64_t, std::uint64_t> seconds;
  std::unordered_map<int, unsigned> connections;
  std::array<epoll_event, 256> events;
  std::array<char, 65536> input;
  for (;;) {
    const int n = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    const std::int64_t second = second_now();
    for (int i = 0; i < n; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == stop) {
        for (const auto& [at, count] : seconds)
          std::printf("%lld %llu\n", static_cast<long long>(at), static_cast<unsigned long long>(count));
        return 0;
      }
      if (fd == door) {
        const int on = 1;
        for (int c; (c = accept4(door, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
          setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          connections[c] = 0;
          watch(c);
        }
        continue;
      }
      const ssize_t got = read(fd, input.data(), input.size());
      if (got <= 0) {
        connections.erase(fd);
        close(fd);
        continue;
      }
      const unsigned found = heads({input.data(), static_cast<std::size_t>(got)}, connections[fd]);
      seconds[second] += found;
      std::string out;
      for (unsigned k = 0; k < found; ++k) out += kAnswer;
      if (found > 0 && write(fd, out.data(), out.size()) != static_cast<ssize_t>(out.size())) close(fd);
    }
  }
}
