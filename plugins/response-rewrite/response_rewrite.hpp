// response-rewrite: changes the answer on its way to the client (status, header fields, body), also answers that the
// gateway itself gives. `vars` decides per answer; where they do not hold, nothing at all happens.
//
// A replaced body streams through without being kept. Filters need the whole body: it is gathered in the request's
// arena up to `max_resp_body_size` (what lies beyond is cut off), decoded, filtered, and sent at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/body.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/expression.hpp"
#include "plugins/sdk/field_text.hpp"
#include "plugins/sdk/replacement.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::response_rewrite {

class ResponseRewrite {
 public:
  struct FilterConfig {
    std::string regex;
    std::string scope = "once";
    std::string replace;
    std::string options = "jo";
  };
  struct Config {
    schema::JsonCopy headers;
    std::optional<std::string> body;
    bool body_base64 = false;
    int status_code = 0;
    schema::JsonCopy vars;
    std::vector<FilterConfig> filters;
    std::uint64_t max_resp_body_size = 64u << 20;
  };
  static constexpr sdk::Traits kTraits{.name = "response-rewrite", .priority = 899};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<ResponseRewrite> compile(Config config, sdk::CompileContext& context);

  void header_filter(sdk::RequestContext& ctx) const noexcept;
  void body_filter(sdk::RequestContext& ctx, const sdk::BodyChunk& chunk, sdk::BodySink& sink) const noexcept;
  sdk::BodyNeeds body_needs() const noexcept;

 private:
  struct Filter {
    Regex pattern;
    sdk::Replacement replacement;
    bool everywhere = false;
  };
  struct Held;  // the body of one request, while it is gathered
  void compile_headers(const Json& headers, sdk::CompileContext& context);
  void edit_headers(sdk::RequestContext& ctx) const noexcept;
  void hold(sdk::RequestContext& ctx, Held& held, std::string_view octets) const noexcept;
  std::string_view filtered(sdk::RequestContext& ctx, const Held& held) const noexcept;

  sdk::Expression vars_;
  std::uint16_t status_ = 0;
  std::optional<std::string> body_;
  std::vector<Filter> filters_;
  std::size_t max_body_ = 0;
  std::vector<sdk::FieldTemplate> add_, set_;
  std::vector<std::string> remove_;
};

using Plugin = ResponseRewrite;

}  // namespace sluice::plugins::response_rewrite
