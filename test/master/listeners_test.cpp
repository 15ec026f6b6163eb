#include "master/listeners.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace sluice::master;

namespace {

// A port that was free a moment ago, still held by `fd` when `hold`.
int free_port(int& fd) {
  fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
  socklen_t length = sizeof a;
  getsockname(fd, reinterpret_cast<sockaddr*>(&a), &length);
  return ntohs(a.sin_port);
}

int released_port() {
  int fd = -1;
  const int port = free_port(fd);
  close(fd);
  return port;
}

}  // namespace

TEST_CASE("a replaced set keeps the sockets that both name", "[listeners]") {
  Listeners listeners;
  const int a = released_port(), b = released_port();
  REQUIRE(listeners.replace({{ListenSocket::Role::proxy, "127.0.0.1", a}}).has_value());
  const int fd = listeners.all().at(0).fd;
  REQUIRE(listeners.replace({{ListenSocket::Role::proxy, "127.0.0.1", a}, {ListenSocket::Role::admin, "127.0.0.1", b}}).has_value());
  CHECK(listeners.with_role(ListenSocket::Role::proxy).at(0).fd == fd);
  CHECK(listeners.with_role(ListenSocket::Role::admin).at(0).address == "127.0.0.1:" + std::to_string(b));
  REQUIRE(listeners.replace({{ListenSocket::Role::admin, "127.0.0.1", b}}).has_value());
  CHECK(listeners.with_role(ListenSocket::Role::proxy).empty());
}

TEST_CASE("an occupied address refuses the whole set and leaves the old one in force", "[listeners]") {
  Listeners listeners;
  const int a = released_port(), c = released_port();
  REQUIRE(listeners.replace({{ListenSocket::Role::proxy, "127.0.0.1", a}}).has_value());
  int holder = -1;
  const int taken = free_port(holder);
  listen(holder, 1);
  auto refused = listeners.replace({{ListenSocket::Role::proxy, "127.0.0.1", a},
                                    {ListenSocket::Role::proxy, "127.0.0.1", c},
                                    {ListenSocket::Role::proxy, "127.0.0.1", taken}});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().path == "127.0.0.1:" + std::to_string(taken));
  CHECK(refused.error().reason.find("Address already in use") != std::string::npos);
  CHECK(listeners.all().size() == 1);
  // The address that was opened on the way is free again.
  Listeners other;
  CHECK(other.replace({{ListenSocket::Role::proxy, "127.0.0.1", c}}).has_value());
  close(holder);
}

TEST_CASE("the bus has one name for the life of the master", "[listeners]") {
  Listeners listeners;
  auto name = listeners.open_bus();
  REQUIRE(name.has_value());
  CHECK(name->at(0) == '\0');
  CHECK(name->size() > 20);
  CHECK(*listeners.open_bus() == *name);
}

TEST_CASE("a replacement can be taken back until it is settled", "[listeners]") {
  Listeners listeners;
  const int a = released_port(), b = released_port();
  REQUIRE(listeners.replace({{ListenSocket::Role::proxy, "127.0.0.1", a}}).has_value());
  const int fd = listeners.all().at(0).fd;
  REQUIRE(listeners.replace({{ListenSocket::Role::proxy, "127.0.0.1", b}}).has_value());
  CHECK(listeners.left_out().at(0).fd == fd);
  listeners.restore();
  REQUIRE(listeners.all().size() == 1);
  CHECK(listeners.all().at(0).fd == fd);
  Listeners other;   // what had been opened is free again, what was kept is not
  CHECK(other.replace({{ListenSocket::Role::proxy, "127.0.0.1", b}}).has_value());
  CHECK_FALSE(other.replace({{ListenSocket::Role::proxy, "127.0.0.1", a}}).has_value());
  listeners.restore();   // there is nothing to take back any more
  CHECK(listeners.all().size() == 1);
}
