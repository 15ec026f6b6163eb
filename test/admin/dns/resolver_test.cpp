// The resolver against a small DNS server on the loopback, whose moods the test chooses.
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>

#include "admin/dns/hosts_file.hpp"
#include "admin/dns/resolver.hpp"

using namespace sluice;
using namespace sluice::admin;
namespace asio = boost::asio;
using asio::ip::udp;

namespace {

class DnsServer {
 public:
  enum class Mood { fine, server_failure, empty, no_such_name, silent };

  explicit DnsServer(asio::io_context& io) : socket_(io, udp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    receive();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(socket_.local_endpoint().port()); }

  Mood mood = Mood::fine;
  std::uint32_t ttl = 60;
  std::map<std::string, std::vector<IpAddress>> zone;
  std::map<std::string, int> asked;  // "name A", "name AAAA"

 private:
  void receive() {
    socket_.async_receive_from(asio::buffer(in_), from_, [this](auto error, std::size_t n) {
      if (error) return;
      if (n > 16) reply(n);
      receive();
    });
  }

  void reply(std::size_t size) {
    std::string name;
    std::size_t at = 12;
    while (at < size && in_[at] != 0) {
      const auto length = static_cast<std::size_t>(in_[at]);
      if (!name.empty()) name += '.';
      name.append(in_.data() + at + 1, length);
      at += length + 1;
    }
    const int type = static_cast<unsigned char>(in_[at + 1]) << 8 | static_cast<unsigned char>(in_[at + 2]);
    const std::size_t question_end = at + 5;
    ++asked[name + (type == 1 ? " A" : " AAAA")];
    if (mood == Mood::silent) return;

    std::string out(in_.data(), question_end);
    const auto found = zone.find(name);
    int code = mood == Mood::server_failure ? 2 : 0;
    if (mood == Mood::no_such_name || (mood == Mood::fine && found == zone.end())) code = 3;
    std::string records;
    int count = 0;
    if (mood == Mood::fine && found != zone.end()) {
      for (const IpAddress& a : found->second) {
        if (a.is_v4() != (type == 1)) continue;
        ++count;
        records += std::string("\xc0\x0c\x00", 3) + static_cast<char>(type) + std::string("\x00\x01", 2);
        for (int shift = 24; shift >= 0; shift -= 8) records += static_cast<char>(ttl >> shift & 0xff);
        const std::size_t length = a.is_v4() ? 4 : 16;
        records += '\0';
        records += static_cast<char>(length);
        records.append(reinterpret_cast<const char*>(a.bytes.data()) + 16 - length, length);
      }
    }
    out[2] = static_cast<char>(0x81);
    out[3] = static_cast<char>(0x80 | code);
    out[6] = 0;
    out[7] = static_cast<char>(count);
    out[8] = out[9] = out[10] = out[11] = 0;
    out += records;
    boost::system::error_code ignored;
    socket_.send_to(asio::buffer(out), from_, 0, ignored);
  }

  udp::socket socket_;
  udp::endpoint from_;
  std::array<char, 1500> in_{};
};

IpAddress ip(const char* text) { return *parse_ip(text); }

struct Fixture {
  asio::io_context io;
  DnsServer server{io};
  ResolverOptions options;
  std::unique_ptr<Resolver> resolver;
  std::vector<std::pair<std::string, std::vector<IpAddress>>> told;
  std::string hosts_path = "/tmp/sluice-hosts-" + std::to_string(getpid());

  Fixture() {
    write_hosts("127.0.0.1 localhost\n10.9.9.9 by-file By-Alias # comment\n::5 six-only\n");
    options.servers = {server.address()};
    options.search = false;
    options.hosts_file = hosts_path;
    options.retry = milliseconds(20);
    options.watch = milliseconds(10);
    options.timeout = milliseconds(400);
  }
  ~Fixture() { std::remove(hosts_path.c_str()); }

  void write_hosts(const std::string& content) {
    const std::string fresh = hosts_path + ".new";
    std::ofstream(fresh) << content;
    REQUIRE(std::rename(fresh.c_str(), hosts_path.c_str()) == 0);
  }
  void start() {
    auto made = Resolver::create(io, options);
    REQUIRE(made.has_value());
    resolver = std::move(*made);
    resolver->on_answer = [this](std::string_view name, const NameAnswer& answer) {
      told.emplace_back(name, answer.addresses);
    };
  }
  template <class F>
  void until(F&& done) {
    const auto limit = std::chrono::steady_clock::now() + seconds(20);
    while (!done()) {
      REQUIRE(std::chrono::steady_clock::now() < limit);
      io.restart();
      io.run_one_for(milliseconds(50));
    }
  }
};

}  // namespace

TEST_CASE("addresses come from DNS, IPv4 first", "[dns]") {
  Fixture f;
  f.server.zone["both.test"] = {ip("10.0.0.2"), ip("10.0.0.1"), ip("2001:db8::1")};
  f.server.zone["six.test"] = {ip("2001:db8::2")};
  f.start();
  CHECK(f.resolver->answer("both.test") == nullptr);
  f.resolver->want("BOTH.test");
  f.resolver->want("six.test");
  f.until([&] { return f.told.size() == 2; });
  CHECK(f.resolver->answer("both.test")->addresses == std::vector<IpAddress>{ip("10.0.0.1"), ip("10.0.0.2")});
  CHECK(f.resolver->answer("both.test")->ttl_seconds == 60);
  CHECK(f.resolver->answer("six.test")->addresses == std::vector<IpAddress>{ip("2001:db8::2")});
  CHECK(f.server.asked["both.test AAAA"] == 0);
}

TEST_CASE("without IPv6 nobody asks for AAAA", "[dns]") {
  Fixture f;
  f.options.ipv6 = false;
  f.server.zone["six.test"] = {ip("2001:db8::2")};
  f.start();
  f.resolver->want("six.test");
  f.until([&] { return f.told.size() == 1; });
  CHECK(f.resolver->answer("six.test")->addresses.empty());
  CHECK(f.server.asked["six.test AAAA"] == 0);
}

TEST_CASE("the hosts file wins, and is read again when it changes", "[dns][hosts]") {
  Fixture f;
  f.server.zone["by-file"] = {ip("10.0.0.1")};
  f.start();
  f.resolver->want("By-File");
  f.resolver->want("by-alias");
  f.resolver->want("localhost");
  f.resolver->want("six-only");
  CHECK(f.resolver->answer("by-file")->addresses == std::vector<IpAddress>{ip("10.9.9.9")});
  CHECK(f.resolver->answer("by-alias")->addresses == std::vector<IpAddress>{ip("10.9.9.9")});
  CHECK(f.resolver->answer("localhost")->addresses == std::vector<IpAddress>{ip("127.0.0.1")});
  CHECK(f.resolver->answer("six-only")->addresses == std::vector<IpAddress>{ip("::5")});
  CHECK(f.resolver->lookups() == 0);

  f.write_hosts("10.8.8.8 by-alias\n");
  f.until([&] { return f.resolver->answer("by-alias")->addresses == std::vector<IpAddress>{ip("10.8.8.8")}; });
  f.until([&] { return f.resolver->answer("by-file")->addresses == std::vector<IpAddress>{ip("10.0.0.1")}; });
}

TEST_CASE("an answer is asked for again when its time is over, and only a change is told", "[dns]") {
  Fixture f;
  f.options.valid = milliseconds(10);
  f.server.zone["a.test"] = {ip("10.0.0.1")};
  f.start();
  f.resolver->want("a.test");
  f.until([&] { return f.server.asked["a.test A"] >= 5; });
  CHECK(f.told.size() == 1);
  f.server.zone["a.test"] = {ip("10.0.0.2")};
  f.until([&] { return f.told.size() == 2; });
  CHECK(f.told.back().second == std::vector<IpAddress>{ip("10.0.0.2")});
  f.resolver->unwant("a.test");
  CHECK(f.resolver->answer("a.test") == nullptr);
}

TEST_CASE("the record's own TTL counts when no fixed time is set", "[dns]") {
  Fixture f;
  f.server.ttl = 1;
  f.server.zone["a.test"] = {ip("10.0.0.1")};
  f.start();
  const auto begun = std::chrono::steady_clock::now();
  f.resolver->want("a.test");
  f.until([&] { return f.server.asked["a.test A"] >= 2; });
  CHECK(std::chrono::steady_clock::now() - begun >= milliseconds(990));
}

TEST_CASE("an outage keeps the last good addresses and ends when the server is back", "[dns][outage]") {
  Fixture f;
  f.options.valid = milliseconds(20);
  f.server.zone["a.test"] = {ip("10.0.0.1")};
  f.start();
  f.resolver->want("a.test");
  f.until([&] { return f.told.size() == 1; });
  using Mood = DnsServer::Mood;
  for (const Mood mood : {Mood::server_failure, Mood::empty, Mood::no_such_name, Mood::silent}) {
    f.server.mood = mood;
    const int before = f.server.asked["a.test A"];
    f.until([&] { return f.server.asked["a.test A"] >= before + 6; });
    REQUIRE(f.resolver->answer("a.test") != nullptr);
    CHECK(f.resolver->answer("a.test")->addresses.size() == 1);
  }
  // Recovery does not wait for the questions that the silence has swallowed.
  f.server.zone["a.test"] = {ip("10.0.0.7")};
  f.server.mood = Mood::fine;
  const auto back = std::chrono::steady_clock::now();
  f.until([&] { return f.told.back().second == std::vector<IpAddress>{ip("10.0.0.7")}; });
  CHECK(std::chrono::steady_clock::now() - back < seconds(2));
  CHECK(f.told.size() == 2);
}

TEST_CASE("a name that does not resolve is told once as such, and found when it appears", "[dns][outage]") {
  Fixture f;
  f.start();
  f.resolver->want("new.test");
  f.until([&] { return f.told.size() == 1; });
  CHECK(f.told[0].second.empty());
  f.until([&] { return f.server.asked["new.test A"] >= 3; });
  CHECK(f.told.size() == 1);
  f.server.zone["new.test"] = {ip("10.0.0.3")};
  f.until([&] { return f.told.size() == 2; });
  CHECK(f.told[1].second == std::vector<IpAddress>{ip("10.0.0.3")});
}

TEST_CASE("a silent server settles a first lookup by the timeout", "[dns][outage]") {
  Fixture f;
  f.server.mood = DnsServer::Mood::silent;
  f.options.timeout = milliseconds(100);
  f.start();
  const auto begun = std::chrono::steady_clock::now();
  f.resolver->want("a.test");
  f.until([&] { return f.told.size() == 1; });
  CHECK(f.told[0].second.empty());
  CHECK(std::chrono::steady_clock::now() - begun < seconds(2));
}

TEST_CASE("a server that is no address is a start error", "[dns]") {
  asio::io_context io;
  ResolverOptions options;
  options.servers = {"not an address"};
  CHECK_FALSE(Resolver::create(io, options).has_value());
}

TEST_CASE("hosts files of any shape are read", "[dns][hosts]") {
  const auto names = HostsFile::parse("# nothing\n\n  10.0.0.1\tone  two\n::1 one\r\nnot-an-ip three\nfe80::1%eth0 four\n10.0.0.1 one");
  REQUIRE(names.size() == 3);
  CHECK(names.at("one").size() == 2);
  CHECK(names.at("two") == std::vector<IpAddress>{ip("10.0.0.1")});
  CHECK(names.at("four") == std::vector<IpAddress>{ip("fe80::1")});
}
