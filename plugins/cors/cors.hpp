// cors: answers preflight requests and tells browsers which origins may read the answers.
//
// The origin is taken when the request comes in, before other plugins edit its headers; the answer's headers are
// computed from it, also for answers of the gateway itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/pcre.hpp"
#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::cors {

// A list of origins as configured: `*` (everybody), `**` (everybody, by name), or origins.
class Origins {
 public:
  Origins() = default;
  explicit Origins(std::string_view text);

  bool everybody() const noexcept { return everybody_; }
  bool names(std::string_view origin) const noexcept;
  // The value for Access-Control-Allow-Origin; empty: none. `origin` empty: the request has none.
  std::string_view answer_to(std::string_view origin) const noexcept;

 private:
  bool everybody_ = false, everybody_by_name_ = false;
  std::vector<std::string> list_;
};

class Cors {
 public:
  struct Config {
    std::string allow_origins = "*";
    std::string allow_methods = "*";
    std::string allow_headers = "*";
    std::string expose_headers;
    std::int64_t max_age = 5;
    bool allow_credential = false;
    std::vector<std::string> allow_origins_by_regex;
    std::vector<std::string> allow_origins_by_metadata;
    std::optional<std::string> timing_allow_origins;
    std::vector<std::string> timing_allow_origins_by_regex;
  };
  static constexpr sdk::Traits kTraits{.name = "cors", .priority = 4000};

  static const schema::Table<Config>& table();
  static const schema::Node& metadata_schema();
  static std::string check(const Json& conf);
  static Result<Cors> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;
  void header_filter(sdk::RequestContext& ctx) const noexcept;

 private:
  // Who is allowed: the patterns when there are any, else the list.
  struct Rule {
    Origins list;
    std::vector<Regex> patterns;

    std::string_view answer_to(std::string_view origin) const noexcept;
  };
  static Result<Rule> rule_of(const std::string& list, const std::vector<std::string>& patterns);
  std::string_view allowed(std::string_view origin) const noexcept;

  Rule rule_;
  std::vector<Origins> by_metadata_;
  bool asks_metadata_ = false;
  std::optional<Rule> timing_;
  std::string methods_, expose_, max_age_, headers_;
  bool echo_headers_ = false;
  bool credential_ = false;
};

using Plugin = Cors;

}  // namespace sluice::plugins::cors
