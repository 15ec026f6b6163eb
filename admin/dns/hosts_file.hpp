// HostsFile: names of /etc/hosts, read again when the file has changed.
#pragma once

#include <sys/stat.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/cidr.hpp"

namespace sluice::admin {

class HostsFile {
 public:
  explicit HostsFile(std::string path) : path_(std::move(path)) {}

  // Looks at the file; true when it has changed since the last look (and has been read again).
  bool refresh();

  // All IPv4 addresses of the name, else (with `ipv6`) its IPv6 ones; empty when it is not there.
  std::vector<IpAddress> find(std::string_view lower_name, bool ipv6) const;

  static std::map<std::string, std::vector<IpAddress>, std::less<>> parse(std::string_view content);

 private:
  std::string path_;
  struct stat seen_ {};
  std::map<std::string, std::vector<IpAddress>, std::less<>> names_;
};

}  // namespace sluice::admin
