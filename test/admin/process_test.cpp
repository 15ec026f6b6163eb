// run_admin as a real process: listeners on port zero, stop signals, kill -9 and a second life.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "admin/process.hpp"
#include "conf/base/json.hpp"
#include "test/admin/support.hpp"

using namespace sluice;

namespace {

int tcp_listener(unsigned short& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
  REQUIRE(::listen(fd, 64) == 0);
  socklen_t length = sizeof a;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &length);
  port = ntohs(a.sin_port);
  return fd;
}

int unix_listener(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  path.copy(a.sun_path, sizeof a.sun_path - 1);
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
  REQUIRE(::listen(fd, 8) == 0);
  return fd;
}

// What the master does for the admin process, small.
class Gateway {
 public:
  explicit Gateway(const std::string& yaml = "apisix: {status: {port: 1}}") {
    auto parsed =
        conf::parse_node_config(yaml, "config.yaml", [](std::string_view) { return std::optional<std::string>(); });
    if (!parsed) FAIL(parsed.error().message());
    node_ = std::move(*parsed);
    node_.sluice.data_dir = dir.file("");
    using Role = worker::ListenSocket::Role;
    start_.node = &node_;
    start_.catalog = catalog_.get();
    start_.listeners = {{tcp_listener(admin_port), Role::admin, "", false},
                        {tcp_listener(control_port), Role::control, "", false},
                        {tcp_listener(status_port), Role::status, "", false}};
    start_.bus_fd = unix_listener(dir.file("bus"));
    start_.generation = 1;
    start_.slot = catalog_->claim_worker(shm::WorkerRole::admin, 1, 0).value();
    start_.admin_key = "the-key";
    start_.config_dir = dir.file("");
  }
  ~Gateway() {
    if (pid > 0) stop(SIGKILL);
    for (const auto& l : start_.listeners) ::close(l.fd);
    ::close(start_.bus_fd);
  }
  void begin() {
    sigset_t stops;
    sigemptyset(&stops);
    for (int number : {SIGTERM, SIGQUIT, SIGUSR1}) sigaddset(&stops, number);
    sigset_t before;
    sigprocmask(SIG_BLOCK, &stops, &before);
    pid = ::fork();
    if (pid == 0) _exit(admin::run_admin(start_));
    sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  // Returns the wait status.
  int stop(int number) {
    ::kill(pid, number);
    int status = 0;
    ::waitpid(pid, &status, 0);
    pid = -1;
    return status;
  }
  std::string ask(unsigned short port, const std::string& head, const std::string& body = {}) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
    const std::string text = head +
                             " HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-API-KEY: the-key\r\nContent-Length: " +
                             std::to_string(body.size()) + "\r\n\r\n" + body;
    ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) all.append(buffer, static_cast<std::size_t>(n));
    ::close(fd);
    return all;
  }

  admin::test::TempDir dir;
  unsigned short admin_port = 0, control_port = 0, status_port = 0;
  pid_t pid = -1;

 private:
  std::unique_ptr<shm::Catalog> catalog_ = shm::Catalog::create_for_test();
  conf::NodeConfig node_;
  admin::AdminStart start_;
};

bool answered(const std::string& response, const char* status) {
  return response.find(std::string("HTTP/1.1 ") + status) == 0;
}

constexpr const char* kRoute = R"({"uri":"/a","upstream":{"nodes":{"127.0.0.1:80":1}}})";

}  // namespace

TEST_CASE("the admin process serves, stops, and comes back with everything", "[admin][process]") {
  Gateway g;
  g.begin();
  CHECK(answered(g.ask(g.admin_port, "PUT /apisix/admin/routes/1", kRoute), "201"));
  CHECK(answered(g.ask(g.control_port, "GET /v1/route/1"), "200"));
  CHECK(answered(g.ask(g.status_port, "GET /status"), "200"));
  CHECK(answered(g.ask(g.status_port, "GET /status/ready"), "200"));  // no workers are expected here
  CHECK(WIFSIGNALED(g.stop(SIGKILL)));
  g.begin();
  CHECK(answered(g.ask(g.admin_port, "GET /apisix/admin/routes/1"), "200"));
  CHECK(answered(g.ask(g.admin_port, "PUT /apisix/admin/routes/2", kRoute), "201"));
  const int quit = g.stop(SIGQUIT);
  CHECK(WIFEXITED(quit));
  CHECK(WEXITSTATUS(quit) == 0);
  g.begin();
  CHECK(answered(g.ask(g.admin_port, "GET /apisix/admin/routes/2"), "200"));
  const int term = g.stop(SIGTERM);
  CHECK(WIFEXITED(term));
  CHECK(WEXITSTATUS(term) == 0);
}

TEST_CASE("a newer admin process takes over from one that is still there", "[admin][process]") {
  Gateway g;
  g.begin();
  CHECK(answered(g.ask(g.admin_port, "PUT /apisix/admin/routes/1", kRoute), "201"));
  const pid_t old = g.pid;
  g.begin();
  ::kill(old, SIGQUIT);
  int status = 0;
  ::waitpid(old, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(answered(g.ask(g.admin_port, "PUT /apisix/admin/routes/2", kRoute), "201"));
  CHECK(answered(g.ask(g.admin_port, "GET /apisix/admin/routes/1"), "200"));
}

TEST_CASE("a store that cannot be opened ends the process with a status", "[admin][process]") {
  Gateway g;
  std::FILE* f = std::fopen(g.dir.file("/config.db").c_str(), "w");
  std::fputs("this is no database, and it is long enough to be taken for the head of one, or so one might think\n", f);
  std::fclose(f);
  g.begin();
  int status = 0;
  ::waitpid(g.pid, &status, 0);
  g.pid = -1;
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
}
