// redirect: answers with a Location instead of going upstream. One of three ways: a text with variables, a regular
// expression over the client's path, or the same address under https.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/replacement.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::plugins::redirect {

class Redirect {
 public:
  struct Config {
    int ret_code = 302;
    std::string uri;
    std::vector<std::string> regex_uri;
    bool http_to_https = false;
    bool encode_uri = false;
    bool append_query_string = false;
  };
  static constexpr sdk::Traits kTraits{.name = "redirect", .priority = 900};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<Redirect> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;

 private:
  // A text of literals and variables. Names are letters, digits and '_' (a '.' ends a name, unlike in other templates).
  struct Part {
    std::string literal;
    sdk::Variable variable;  // after the literal; unknown ones give nothing
  };
  static std::vector<Part> parts_of(std::string_view text, sdk::CompileContext& context);

  sdk::Verdict to_https(sdk::RequestContext& ctx) const noexcept;
  std::string_view from_parts(sdk::RequestContext& ctx) const noexcept;

  enum class Way : std::uint8_t { nothing, text, pattern, https };
  Way way_ = Way::nothing;
  std::vector<Part> parts_;
  Regex pattern_;
  sdk::Replacement replacement_;
  sdk::Variable request_uri_;
  std::vector<std::string> ports_;  // ":9443"; one of them is drawn; none: the default port
  std::uint16_t ret_code_ = 302;
  bool encode_ = false;
  bool append_query_ = false;
};

using Plugin = Redirect;

}  // namespace sluice::plugins::redirect
