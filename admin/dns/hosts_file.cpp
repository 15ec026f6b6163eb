// See hosts_file.hpp.
#include "admin/dns/hosts_file.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "conf/base/text.hpp"

namespace sluice::admin {

namespace {
constexpr std::size_t kMaxFile = 8u << 20;

bool same_file(const struct stat& a, const struct stat& b) noexcept {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}
}  // namespace

std::map<std::string, std::vector<IpAddress>, std::less<>> HostsFile::parse(std::string_view content) {
  std::map<std::string, std::vector<IpAddress>, std::less<>> names;
  for (std::string_view line : text::split(content, '\n')) {
    line = text::trim(line.substr(0, line.find('#')));
    std::optional<IpAddress> address;
    while (!line.empty()) {
      const auto end = std::find_if(line.begin(), line.end(), text::is_space);
      const std::string_view word = line.substr(0, static_cast<std::size_t>(end - line.begin()));
      line = text::trim(line.substr(word.size()));
      if (!address) {
        address = parse_ip(word.substr(0, word.find('%')));  // a zone means nothing to another process's socket
        if (!address) break;
        continue;
      }
      auto& list = names[text::to_lower(word)];
      if (std::find(list.begin(), list.end(), *address) == list.end()) list.push_back(*address);
    }
  }
  return names;
}

bool HostsFile::refresh() {
  struct stat now {};
  if (::stat(path_.c_str(), &now) != 0) now = {};
  if (same_file(now, seen_)) return false;
  seen_ = now;
  names_.clear();
  if (now.st_size > 0 && static_cast<std::size_t>(now.st_size) <= kMaxFile) {
    std::ifstream file(path_, std::ios::binary);
    names_ = parse(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return true;
}

std::vector<IpAddress> HostsFile::find(std::string_view lower_name, bool ipv6) const {
  const auto it = names_.find(lower_name);
  if (it == names_.end()) return {};
  std::vector<IpAddress> v4, v6;
  for (const IpAddress& address : it->second) (address.is_v4() ? v4 : v6).push_back(address);
  if (!v4.empty()) return v4;
  return ipv6 ? v6 : std::vector<IpAddress>{};
}

}  // namespace sluice::admin
