// The floor: the smallest relay that still makes the socket calls a proxy must make. It parses nothing: a request is
// whatever one recv brings, an answer likewise. One connection to the origin per client connection, kept open.
//
// It shows what the kernel alone costs; it is no proxy.   floor LISTEN_PORT ORIGIN_PORT
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unordered_map>

namespace {

struct Side {
  int fd = -1;
  int peer = -1;
};

sockaddr_in loopback(int port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<std::uint16_t>(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: floor LISTEN_PORT ORIGIN_PORT\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  const int on = 1;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in here = loopback(std::atoi(argv[1])), origin = loopback(std::atoi(argv[2]));
  if (bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 || listen(listener, 4096) != 0) {
    std::perror("floor: listen");
    return 1;
  }
  const int set = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  epoll_ctl(set, EPOLL_CTL_ADD, listener, &event);
  std::unordered_map<int, int> peer;
  static char buffer[65536];
  static epoll_event ready[256];
  for (;;) {
    const int n = epoll_wait(set, ready, 256, -1);
    for (int i = 0; i < n; ++i) {
      const int fd = ready[i].data.fd;
      if (fd == listener) {
        const int client = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
        if (client < 0) continue;
        const int server = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(server, reinterpret_cast<sockaddr*>(&origin), sizeof origin) != 0) {
          close(client);
          close(server);
          continue;
        }
        fcntl(server, F_SETFL, O_NONBLOCK);
        for (int s : {client, server}) {
          setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          epoll_event e{};
          e.events = EPOLLIN | EPOLLET;
          e.data.fd = s;
          epoll_ctl(set, EPOLL_CTL_ADD, s, &e);
        }
        peer[client] = server;
        peer[server] = client;
        continue;
      }
      auto other = peer.find(fd);
      if (other == peer.end()) continue;
      for (;;) {
        const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
        if (got > 0) {
          // A full socket buffer is not handled: the floor carries small messages only.
          if (send(other->second, buffer, static_cast<std::size_t>(got), MSG_NOSIGNAL) == got &&
              got < static_cast<ssize_t>(sizeof buffer))
            break;
          if (got == static_cast<ssize_t>(sizeof buffer)) continue;
        }
        if (got < 0) break;
        const int gone = other->second;
        peer.erase(gone);
        peer.erase(fd);
        close(gone);
        close(fd);
        break;
      }
    }
  }
}
