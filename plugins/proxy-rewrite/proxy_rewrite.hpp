// proxy-rewrite: changes what is sent upstream (Host, path and query, method, header fields). The route stays matched
// as it was, and other plugins keep seeing the client's path.
//
// Everything that can be settled at compile is: patterns, replacements, templates and the list of field edits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/proxy-rewrite/field_edits.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/replacement.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/template.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::proxy_rewrite {

class ProxyRewrite {
 public:
  struct Config {
    std::string uri;
    std::vector<std::string> regex_uri;
    std::string method;
    std::string host;
    schema::JsonCopy headers;
    bool use_real_request_uri_unsafe = false;
  };
  static constexpr sdk::Traits kTraits{.name = "proxy-rewrite", .priority = 1008};

  static const schema::Table<Config>& table();
  static std::string check_first(const Json& conf);
  static std::string check(const Json& conf);
  static Result<ProxyRewrite> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;

 private:
  struct Rule {
    Regex pattern;
    sdk::Replacement replacement;
  };
  // The new target before encoding, and whether its first '?' starts a query.
  struct Target {
    std::string_view text;
    bool has_query_mark = false;
    const Rule* failed = nullptr;  // the regex engine gave up on it
  };
  sdk::Verdict rewrite_target(sdk::RequestContext& ctx) const noexcept;
  Target from_template(sdk::RequestContext& ctx, std::string_view source) const noexcept;
  Target from_rules(sdk::RequestContext& ctx, std::string_view source) const noexcept;
  std::string_view encoded(sdk::RequestContext& ctx, const Target& target) const noexcept;

  std::string host_;
  std::string method_;
  bool has_uri_ = false;
  sdk::Template uri_;
  std::vector<Rule> rules_;
  bool unsafe_ = false;
  bool keeps_target_ = false;   // only header fields or the method change
  FieldEdits edits_;
};

using Plugin = ProxyRewrite;

}  // namespace sluice::plugins::proxy_rewrite
