// A whole document against what is stored: what would change, and the edits that make it so.
#pragma once

#include <string>
#include <vector>

#include "admin/store/configuration.hpp"
#include "conf/standalone.hpp"

namespace sluice::admin {

struct Difference {
  std::vector<std::string> added, removed;
  struct Changed {
    std::string key;
    std::vector<std::string> paths;  // "upstream.nodes", members joined by '.'
  };
  std::vector<Changed> changed;
};

// Times and what only the server sets are no difference. The staged view is compared.
Difference difference(const Image& image, const conf::StandaloneDocument& document);

// {"added":[…],"removed":[…],"changed":[{"key","paths"}]}, keys with the prefix.
std::string to_text(const Difference& difference, const std::string& prefix);

// One batch that turns what is stored into the document. Objects that stay as they are, are not touched.
std::vector<Edit> edits_for(const Image& image, const conf::StandaloneDocument& document, std::int64_t now_s);

}  // namespace sluice::admin
