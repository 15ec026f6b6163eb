// Settings: what the node file says about the request path, in the form the path uses. Made once per worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "conf/base/cidr.hpp"
#include "conf/base/clock.hpp"
#include "worker/http1/request_head.hpp"
#include "worker/router/normalise.hpp"

namespace sluice::conf {
struct NodeConfig;
}

namespace sluice::worker {

struct Settings {
  HeadLimits head;
  std::size_t response_head = 65536;
  std::size_t replay = 65536;        // of a request body, kept until the answer's head is here
  std::size_t spill = 65536;         // a body that a plugin reads goes to a file beyond
  std::string spill_folder = "/tmp";
  std::uint64_t readable_body = 64u << 20;   // conditions and variables read bodies up to this; 0: any
  std::uint64_t max_body = 0;        // 0: no limit
  std::size_t trailers = 8192;       // of a chunked request body
  bool underscores_in_headers = true;  // false: a field with one in its name is dropped

  nanoseconds header_timeout{seconds(60)};
  nanoseconds body_timeout{seconds(60)};
  nanoseconds send_timeout{seconds(10)};
  nanoseconds keepalive_timeout{seconds(60)};
  std::uint32_t keepalive_requests = 10000;     // of one client connection, so that long ones move to other workers
  nanoseconds keepalive_time{seconds(3600)};
  nanoseconds grace_after_half_close{seconds(1)};  // a client that has closed its side may still wait for the answer

  router::NormaliseOptions normalise;
  bool trusted_configured = false;
  CidrSet trusted;                   // apisix.trusted_addresses
  CidrSet real_ip_from;
  bool real_ip_from_unix = true;
  std::string real_ip_header = "x-real-ip";
  bool real_ip_recursive = false;

  bool show_upstream_status = false;
  bool via = false;
  std::string server = "sluice";     // value of the Server field
  std::string charset;               // added to text types without one; empty: off
};

Settings make_settings(const conf::NodeConfig& node);

}  // namespace sluice::worker
