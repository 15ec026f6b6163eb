#include "plugins/referer-restriction/referer_restriction.hpp"

#include <algorithm>

#include "conf/base/text.hpp"
#include "plugins/sdk/json_text.hpp"

namespace sluice::plugins::referer_restriction {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

// The host of an http or https address, brackets included, without user and port; empty when it is none.
std::string_view host_of(std::string_view url) noexcept {
  if (text::istarts_with(url, "http://"))
    url.remove_prefix(7);
  else if (text::istarts_with(url, "https://"))
    url.remove_prefix(8);
  else
    return {};
  std::string_view authority = url.substr(0, url.find_first_of("/?#"));
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    return close == std::string_view::npos ? std::string_view() : authority.substr(0, close + 1);
  }
  return authority.substr(0, authority.find(':'));
}

}  // namespace

const schema::Table<RefererRestriction::Config>& RefererRestriction::table() {
  using namespace schema;
  static const Node kList = array(string().pattern(R"(^\*$|^\*?[0-9a-zA-Z-._\[\]:]+$)")).min_items(1);
  static const auto kTable =
      schema::table<Config>()
          .field("bypass_missing", &Config::bypass_missing,
                 boolean().default_value(false).doc("let requests without a usable Referer pass"))
          .field("whitelist", &Config::whitelist, kList.doc("hosts that may refer; `*.a.com` is a suffix"))
          .field("blacklist", &Config::blacklist, kList.doc("hosts that may not refer"))
          .field("message", &Config::message,
                 string()
                     .min_length(1)
                     .max_length(1024)
                     .default_value("Your referer host is not allowed")
                     .doc("told to who is refused"))
          .refine([](Node n) {
            return n.with_one_of({Node().require({"whitelist"}), Node().require({"blacklist"})});
          });
  return kTable;
}

Result<RefererRestriction> RefererRestriction::compile(Config config, sdk::CompileContext&) {
  RefererRestriction made;
  made.listed_pass_ = !config.whitelist.empty();
  for (const std::string& host : made.listed_pass_ ? config.whitelist : config.blacklist) {
    if (host.starts_with('*'))
      made.suffixes_.push_back(host.substr(1));
    else
      made.hosts_.push_back(host);
  }
  made.bypass_missing_ = config.bypass_missing;
  made.body_ = sdk::json_line("message", config.message);
  return made;
}

bool RefererRestriction::lists(std::string_view host) const noexcept {
  return std::any_of(hosts_.begin(), hosts_.end(), [host](const auto& h) { return text::iequal(h, host); }) ||
         std::any_of(suffixes_.begin(), suffixes_.end(), [host](const auto& s) {
           return host.size() >= s.size() && text::iequal(host.substr(host.size() - s.size()), s);
         });
}

Verdict RefererRestriction::access(RequestContext& ctx) const noexcept {
  const sdk::Field* referer = ctx.request_headers.find(sdk::FieldId::referer);
  const std::string_view host = referer == nullptr ? std::string_view() : host_of(text::trim(referer->value));
  const bool passes = host.empty() ? bypass_missing_ : lists(host) == listed_pass_;
  return passes ? Verdict::proceed() : ctx.respond(403, body_);
}

}  // namespace sluice::plugins::referer_restriction
