// Resolver: keeps the addresses of wanted names fresh.
//
// Order: the hosts file, then DNS. A name is asked for its last successful record type first, else A, then AAAA (when
// IPv6 is on). Answers live for their TTL (or a fixed time) and are asked for again when that is over; listeners hear of
// a name when its first lookup has ended and when its addresses have changed, never otherwise.
//
// A failure never takes addresses away: the last good ones stay, whatever the failure says, and the name is asked for
// again every second, each time with a new question, whether older ones have ended or not. So service is back about
// a second after the DNS is, on every worker.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/dns/name_source.hpp"
#include "conf/base/clock.hpp"
#include "conf/base/result.hpp"

namespace boost::asio {
class io_context;
}
namespace sluice::conf {
struct NodeConfig;
}

namespace sluice::admin {

struct ResolverOptions {
  std::vector<std::string> servers;          // empty: /etc/resolv.conf, read again when it has changed
  bool search = true;
  bool ipv6 = true;
  nanoseconds timeout = seconds(5);          // after which a first lookup counts as failed
  std::optional<nanoseconds> valid;          // instead of the TTL
  nanoseconds retry = seconds(1);            // while there is no answer
  nanoseconds watch = seconds(1);            // how often the two files are looked at
  std::string hosts_file = "/etc/hosts";
  std::string resolv_conf = "/etc/resolv.conf";
};
ResolverOptions resolver_options(const conf::NodeConfig& node);

class Resolver final : public NameSource {
 public:
  // invalid: a server that is no address.
  static Result<std::unique_ptr<Resolver>> create(boost::asio::io_context& io, ResolverOptions options);
  ~Resolver() override;

  void want(std::string_view name) override;
  void unwant(std::string_view name) override;
  const NameAnswer* answer(std::string_view name) const override;

  std::uint64_t lookups() const noexcept;  // questions asked so far

 private:
  struct Impl;
  explicit Resolver(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::admin
