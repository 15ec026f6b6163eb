// CaresChannel: asynchronous DNS queries through c-ares on Asio.
//
// c-ares makes the messages and owns its sockets; Asio watches them and keeps its clock. A query asks for one record
// type of one name (with the search domains, when wanted) and calls back exactly once, unless the channel is destroyed
// before. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conf/base/cidr.hpp"
#include "conf/base/clock.hpp"
#include "conf/base/result.hpp"

namespace boost::asio {
class io_context;
}

namespace sluice::admin {

enum class RecordType : std::uint8_t { a, aaaa };

struct QueryResult {
  bool answered = false;             // the server has spoken, be it "no such name"
  std::vector<IpAddress> addresses;  // empty: none of this type
  std::uint32_t ttl_seconds = 0;     // the smallest
  std::string problem;               // why there are no addresses
};

class CaresChannel {
 public:
  struct Options {
    std::vector<std::string> servers;  // "10.0.0.2", "10.0.0.2:5353", "[::1]:53"; empty: /etc/resolv.conf
    bool search = true;                // search domains of /etc/resolv.conf
    nanoseconds timeout = seconds(5);  // of a whole query
  };

  // invalid: a server address that is none; internal: c-ares does not start.
  static Result<std::unique_ptr<CaresChannel>> create(boost::asio::io_context& io, const Options& options);
  ~CaresChannel();
  CaresChannel(const CaresChannel&) = delete;
  CaresChannel& operator=(const CaresChannel&) = delete;

  void query(const std::string& name, RecordType type, std::function<void(QueryResult)> done);

 private:
  struct Impl;
  explicit CaresChannel(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::admin
