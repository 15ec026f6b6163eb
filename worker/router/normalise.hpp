// The request target as routes see it: percent-decoded, dot segments resolved, slashes merged.
//
// A target that needs none of that is a view into the raw text; otherwise the text is made in the request's arena.
// Called once per request by the pipeline; pure, so that a fuzzer can drive it.
#pragma once

#include <string_view>

#include "plugins/sdk/arena.hpp"

namespace sluice::router {

struct NormaliseOptions {
  bool delete_uri_tail_slash = false;
  bool normalize_uri_like_servlet = false;
  bool match_uri_encoded_slash = false;
};

struct NormalTarget {
  std::string_view path;          // `uri`
  std::string_view match_path;    // compared with patterns; equals path but for match_uri_encoded_slash
  std::string_view query;         // raw, without '?'
  bool has_query = false;         // a '?' was there
  std::string_view authority;     // of a target in absolute form, else empty
  std::string_view scheme;        // of a target in absolute form, else empty
  std::string_view upstream_uri;  // path and query to send instead of the raw target; empty: unchanged
};

// False: the request gets 400 (encoded NUL, an escape above the root, malformed escape, no path, servlet rules).
bool normalise_target(std::string_view raw, const NormaliseOptions& options, sdk::Arena& arena,
                      NormalTarget& out) noexcept;

}  // namespace sluice::router
