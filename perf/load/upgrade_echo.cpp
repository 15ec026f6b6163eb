// Both ends of upgraded connections, for the WebSocket scenario: an origin that echoes, and a load of ping-pong messages.
//   upgrade_echo origin PORT
//   upgrade_echo load PORT CONNECTIONS SECONDS [MESSAGE_OCTETS]   -> "N requests in S s", then latencies as wrk prints them
// A relay does not read frames, so the messages are plain octets.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kAsk =
    "GET /ws HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
constexpr std::string_view kAgree =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

sockaddr_in loopback(int port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<std::uint16_t>(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

void no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int fail(const char* what) {
  std::perror(what);
  return 1;
}

int origin(int port) {
  const int on = 1;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in here = loopback(port);
  if (bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 || listen(listener, 4096) != 0)
    return fail("upgrade_echo: listen");
  const int set = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  epoll_ctl(set, EPOLL_CTL_ADD, listener, &event);
  std::vector<bool> agreed(65536);
  static char block[65536];
  static epoll_event ready[256];
  for (;;) {
    const int n = epoll_wait(set, ready, 256, -1);
    for (int i = 0; i < n; ++i) {
      const int fd = ready[i].data.fd;
      if (fd == listener) {
        const int client = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
        if (client < 0) continue;
        no_delay(client);
        agreed[static_cast<std::size_t>(client)] = false;
        event.data.fd = client;
        epoll_ctl(set, EPOLL_CTL_ADD, client, &event);
        continue;
      }
      const ssize_t got = recv(fd, block, sizeof block, 0);
      if (got <= 0) {
        close(fd);
        continue;
      }
      const bool first = !agreed[static_cast<std::size_t>(fd)];
      agreed[static_cast<std::size_t>(fd)] = true;
      const bool upgrade = first && std::string_view(block, static_cast<std::size_t>(got)).find("pgrade") != std::string_view::npos;
      const std::string_view plain = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
      const std::string_view out = upgrade ? kAgree : first ? plain : std::string_view(block, static_cast<std::size_t>(got));
      if (first && !upgrade) agreed[static_cast<std::size_t>(fd)] = false;
      if (send(fd, out.data(), out.size(), MSG_NOSIGNAL) < 0) close(fd);
    }
  }
}

struct Connection {
  int fd = -1;
  std::size_t left = 0;   // of the answer in hand
  Clock::time_point sent;
};

int load(int port, std::size_t count, double seconds, std::size_t octets) {
  const std::string message(octets, 'x');
  const sockaddr_in to = loopback(port);
  const int set = epoll_create1(0);
  std::vector<Connection> connections(count);
  static char block[65536];
  for (std::size_t i = 0; i < count; ++i) {
    Connection& c = connections[i];
    c.fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c.fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return fail("upgrade_echo: connect");
    no_delay(c.fd);
    if (send(c.fd, kAsk.data(), kAsk.size(), MSG_NOSIGNAL) < 0) return fail("upgrade_echo: send");
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = recv(c.fd, block, sizeof block, 0);
      if (got <= 0) return fail("upgrade_echo: no answer");
      head.append(block, static_cast<std::size_t>(got));
    }
    if (head.rfind("HTTP/1.1 101", 0) != 0) {
      std::fprintf(stderr, "upgrade_echo: refused: %s\n", head.c_str());
      return 1;
    }
    fcntl(c.fd, F_SETFL, O_NONBLOCK);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(set, EPOLL_CTL_ADD, c.fd, &event);
  }
  const auto begun = Clock::now();
  const auto until = begun + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<float> took;
  auto now = begun;
  const auto ping = [&](Connection& c) {
    c.left = octets;
    c.sent = now;
    if (send(c.fd, message.data(), octets, MSG_NOSIGNAL) < 0) std::exit(fail("upgrade_echo: send"));
  };
  for (Connection& c : connections) ping(c);
  epoll_event ready[256];
  while (now < until) {
    const int n = epoll_wait(set, ready, 256, 100);
    now = Clock::now();
    for (int i = 0; i < n; ++i) {
      Connection& c = connections[ready[i].data.u64];
      const ssize_t got = recv(c.fd, block, sizeof block, 0);
      if (got <= 0) return fail("upgrade_echo: connection lost");
      c.left -= std::min(c.left, static_cast<std::size_t>(got));
      if (c.left != 0) continue;
      took.push_back(std::chrono::duration<float, std::milli>(now - c.sent).count());
      ping(c);
    }
  }
  const double real = std::chrono::duration<double>(now - begun).count();
  std::sort(took.begin(), took.end());
  const auto at = [&](double p) { return took.empty() ? 0.f : took[static_cast<std::size_t>(p * static_cast<double>(took.size() - 1))]; };
  std::printf("  50%% %.4fms\n  99%% %.4fms\n%zu requests in %.2fs\nRequests/sec: %.1f\n", static_cast<double>(at(0.5)),
              static_cast<double>(at(0.99)), took.size(), real, static_cast<double>(took.size()) / real);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  if (argc == 3 && std::strcmp(argv[1], "origin") == 0) return origin(std::atoi(argv[2]));
  if ((argc == 5 || argc == 6) && std::strcmp(argv[1], "load") == 0)
    return load(std::atoi(argv[2]), std::strtoul(argv[3], nullptr, 10), std::atof(argv[4]),
                argc == 6 ? std::strtoul(argv[5], nullptr, 10) : 64);
  std::fprintf(stderr, "usage: upgrade_echo origin PORT | load PORT CONNECTIONS SECONDS [MESSAGE_OCTETS]\n");
  return 2;
}
